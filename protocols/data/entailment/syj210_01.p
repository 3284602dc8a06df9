% Problem  : syj210_01
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(axiom1,axiom,( ~~p1 )).
fof(axiom2,axiom,( (p1 => (p1 => p0)) )).
fof(con,conjecture,( p0 )).
