% Problem  : syj203_02
% Status   : Theorem
% Status (intuit.) : Theorem
fof(axiom1,axiom,( (((p1 & p2) | ((p1 => f) | (p2 => f))) => f) )).
fof(con,conjecture,( f )).
