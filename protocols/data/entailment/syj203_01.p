% Problem  : syj203_01
% Status   : Theorem
% Status (intuit.) : Theorem
fof(axiom1,axiom,( ((p1 | (p1 => f)) => f) )).
fof(con,conjecture,( f )).
