% Problem  : syj208_02
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(axiom1,axiom,( (o1_1 | ~~o1_2) )).
fof(axiom2,axiom,( (o2_1 | ~~o2_2) )).
fof(axiom3,axiom,( (o3_1 | ~~o3_2) )).
fof(con,conjecture,( ((o1_1 & o2_1) | ((o1_1 & o3_1) | ((o2_1 & o3_1) | ((o1_2 & o2_2) | ((o1_2 & o3_2) | (o2_2 & o3_2)))))) )).
