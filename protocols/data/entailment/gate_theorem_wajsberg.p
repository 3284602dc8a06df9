% Problem  : gate_theorem_wajsberg
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( ((((p=>q)=>p)=>p)=>q)=>q )).
