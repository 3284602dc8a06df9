% Problem  : syj204_02
% Status   : Theorem
% Status (intuit.) : Theorem
fof(axiom1,axiom,( p2 )).
fof(axiom2,axiom,( (p1 => (p1 => p0)) )).
fof(axiom3,axiom,( (p2 => (p2 => p1)) )).
fof(con,conjecture,( p0 )).
