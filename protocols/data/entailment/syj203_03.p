% Problem  : syj203_03
% Status   : Theorem
% Status (intuit.) : Theorem
fof(axiom1,axiom,( (((p1 & (p2 & p3)) | ((p1 => f) | ((p2 => f) | (p3 => f)))) => f) )).
fof(con,conjecture,( f )).
