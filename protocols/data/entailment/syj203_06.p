% Problem  : syj203_06
% Status   : Theorem
% Status (intuit.) : Theorem
fof(axiom1,axiom,( (((p1 & (p2 & (p3 & (p4 & (p5 & p6))))) | ((p1 => f) | ((p2 => f) | ((p3 => f) | ((p4 => f) | ((p5 => f) | (p6 => f))))))) => f) )).
fof(con,conjecture,( f )).
