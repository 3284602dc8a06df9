% Problem  : gate_theorem_not_not_peirce
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( ~~(((p=>q)=>p)=>p) )).
