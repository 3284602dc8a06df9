% Problem  : gate_two_worlds_converse_contraposition
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( (~q=>~p)=>(p=>q) )).
