% Problem  : syj202_03
% Status   : Theorem
% Status (intuit.) : Theorem
fof(axiom1,axiom,( (o1_1 | (o1_2 | o1_3)) )).
fof(axiom2,axiom,( (o2_1 | (o2_2 | o2_3)) )).
fof(axiom3,axiom,( (o3_1 | (o3_2 | o3_3)) )).
fof(axiom4,axiom,( (o4_1 | (o4_2 | o4_3)) )).
fof(con,conjecture,( ((o1_1 & o2_1) | ((o1_1 & o3_1) | ((o1_1 & o4_1) | ((o2_1 & o3_1) | ((o2_1 & o4_1) | ((o3_1 & o4_1) | ((o1_2 & o2_2) | ((o1_2 & o3_2) | ((o1_2 & o4_2) | ((o2_2 & o3_2) | ((o2_2 & o4_2) | ((o3_2 & o4_2) | ((o1_3 & o2_3) | ((o1_3 & o3_3) | ((o1_3 & o4_3) | ((o2_3 & o3_3) | ((o2_3 & o4_3) | (o3_3 & o4_3)))))))))))))))))) )).
