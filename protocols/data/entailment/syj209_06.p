% Problem  : syj209_06
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(axiom1,axiom,( (((p1 & (p2 & (p3 & (p4 & (p5 & p6))))) | ((~~p1 => f) | ((p2 => f) | ((p3 => f) | ((p4 => f) | ((p5 => f) | (p6 => f))))))) => f) )).
fof(con,conjecture,( f )).
