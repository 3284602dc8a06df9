% Problem  : syj209_02
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(axiom1,axiom,( (((p1 & p2) | ((~~p1 => f) | (p2 => f))) => f) )).
fof(con,conjecture,( f )).
