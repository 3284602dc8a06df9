% Problem  : syj203_08
% Status   : Theorem
% Status (intuit.) : Theorem
fof(axiom1,axiom,( (((p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & p8))))))) | ((p1 => f) | ((p2 => f) | ((p3 => f) | ((p4 => f) | ((p5 => f) | ((p6 => f) | ((p7 => f) | (p8 => f))))))))) => f) )).
fof(con,conjecture,( f )).
