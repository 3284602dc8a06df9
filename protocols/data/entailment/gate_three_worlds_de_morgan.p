% Problem  : gate_three_worlds_de_morgan
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( ~(p&q)=>(~p|~q) )).
