% Problem  : syj201_01
% Status   : Theorem
% Status (intuit.) : Theorem
fof(axiom1,axiom,( ((p1 <=> p2) => (p1 & (p2 & p3))) )).
fof(axiom2,axiom,( ((p2 <=> p3) => (p1 & (p2 & p3))) )).
fof(axiom3,axiom,( ((p3 <=> p1) => (p1 & (p2 & p3))) )).
fof(con,conjecture,( (p1 & (p2 & p3)) )).
