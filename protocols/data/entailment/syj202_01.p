% Problem  : syj202_01
% Status   : Theorem
% Status (intuit.) : Theorem
fof(axiom1,axiom,( o1_1 )).
fof(axiom2,axiom,( o2_1 )).
fof(con,conjecture,( (o1_1 & o2_1) )).
