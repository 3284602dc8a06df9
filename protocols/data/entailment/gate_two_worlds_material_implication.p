% Problem  : gate_two_worlds_material_implication
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( (p=>q)=>(~p|q) )).
