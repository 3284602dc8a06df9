% Problem  : syj201_05
% Status   : Theorem
% Status (intuit.) : Theorem
fof(axiom1,axiom,( ((p1 <=> p2) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & (p8 & (p9 & (p10 & p11))))))))))) )).
fof(axiom2,axiom,( ((p2 <=> p3) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & (p8 & (p9 & (p10 & p11))))))))))) )).
fof(axiom3,axiom,( ((p3 <=> p4) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & (p8 & (p9 & (p10 & p11))))))))))) )).
fof(axiom4,axiom,( ((p4 <=> p5) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & (p8 & (p9 & (p10 & p11))))))))))) )).
fof(axiom5,axiom,( ((p5 <=> p6) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & (p8 & (p9 & (p10 & p11))))))))))) )).
fof(axiom6,axiom,( ((p6 <=> p7) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & (p8 & (p9 & (p10 & p11))))))))))) )).
fof(axiom7,axiom,( ((p7 <=> p8) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & (p8 & (p9 & (p10 & p11))))))))))) )).
fof(axiom8,axiom,( ((p8 <=> p9) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & (p8 & (p9 & (p10 & p11))))))))))) )).
fof(axiom9,axiom,( ((p9 <=> p10) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & (p8 & (p9 & (p10 & p11))))))))))) )).
fof(axiom10,axiom,( ((p10 <=> p11) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & (p8 & (p9 & (p10 & p11))))))))))) )).
fof(axiom11,axiom,( ((p11 <=> p1) => (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & (p8 & (p9 & (p10 & p11))))))))))) )).
fof(con,conjecture,( (p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & (p8 & (p9 & (p10 & p11)))))))))) )).
