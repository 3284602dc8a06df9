% Problem  : syj207_04
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(axiom1,axiom,( ((p1 <=> p2) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & p8)))))))) )).
fof(axiom2,axiom,( ((p2 <=> p3) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & p8)))))))) )).
fof(axiom3,axiom,( ((p3 <=> p4) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & p8)))))))) )).
fof(axiom4,axiom,( ((p4 <=> p5) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & p8)))))))) )).
fof(axiom5,axiom,( ((p5 <=> p6) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & p8)))))))) )).
fof(axiom6,axiom,( ((p6 <=> p7) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & p8)))))))) )).
fof(axiom7,axiom,( ((p7 <=> p8) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & p8)))))))) )).
fof(axiom8,axiom,( ((p8 <=> p1) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & p8)))))))) )).
fof(con,conjecture,( (p0 | ((p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & p8))))))) | ~p0)) )).
