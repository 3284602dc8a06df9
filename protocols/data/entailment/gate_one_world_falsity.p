% Problem  : gate_one_world_falsity
% Status   : CounterSatisfiable
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( $false )).
