% Problem  : gate_two_worlds_peirce
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( ((p=>q)=>p)=>p )).
