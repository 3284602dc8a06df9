% Problem  : syj204_03
% Status   : Theorem
% Status (intuit.) : Theorem
fof(axiom1,axiom,( p3 )).
fof(axiom2,axiom,( (p1 => (p1 => p0)) )).
fof(axiom3,axiom,( (p2 => (p2 => p1)) )).
fof(axiom4,axiom,( (p3 => (p3 => p2)) )).
fof(con,conjecture,( p0 )).
