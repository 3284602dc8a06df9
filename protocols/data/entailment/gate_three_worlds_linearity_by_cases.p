% Problem  : gate_three_worlds_linearity_by_cases
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( ((p=>q)=>r)=>(((q=>p)=>r)=>r) )).
