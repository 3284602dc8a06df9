% Problem  : gate_four_worlds_kreisel_putnam
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( (~p=>(q|r))=>((~p=>q)|(~p=>r)) )).
