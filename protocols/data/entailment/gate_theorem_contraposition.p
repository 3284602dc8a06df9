% Problem  : gate_theorem_contraposition
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( (p=>q)=>(~q=>~p) )).
