% Problem  : syj207_03
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(axiom1,axiom,( ((p1 <=> p2) => (p1 & (p2 & (p3 & (p4 & (p5 & p6)))))) )).
fof(axiom2,axiom,( ((p2 <=> p3) => (p1 & (p2 & (p3 & (p4 & (p5 & p6)))))) )).
fof(axiom3,axiom,( ((p3 <=> p4) => (p1 & (p2 & (p3 & (p4 & (p5 & p6)))))) )).
fof(axiom4,axiom,( ((p4 <=> p5) => (p1 & (p2 & (p3 & (p4 & (p5 & p6)))))) )).
fof(axiom5,axiom,( ((p5 <=> p6) => (p1 & (p2 & (p3 & (p4 & (p5 & p6)))))) )).
fof(axiom6,axiom,( ((p6 <=> p1) => (p1 & (p2 & (p3 & (p4 & (p5 & p6)))))) )).
fof(con,conjecture,( (p0 | ((p1 & (p2 & (p3 & (p4 & (p5 & p6))))) | ~p0)) )).
