% Problem  : gate_three_worlds_disjunctive_consequent
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( (p=>(q|r))=>((p=>q)|(p=>r)) )).
