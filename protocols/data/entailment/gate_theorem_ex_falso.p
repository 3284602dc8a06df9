% Problem  : gate_theorem_ex_falso
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( $false=>p )).
