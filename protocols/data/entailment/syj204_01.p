% Problem  : syj204_01
% Status   : Theorem
% Status (intuit.) : Theorem
fof(axiom1,axiom,( p1 )).
fof(axiom2,axiom,( (p1 => (p1 => p0)) )).
fof(con,conjecture,( p0 )).
