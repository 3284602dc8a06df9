% Problem  : gate_four_worlds_scott
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( ((~~p=>p)=>(p|~p))=>(~p|~~p) )).
