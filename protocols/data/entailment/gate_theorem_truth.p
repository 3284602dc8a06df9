% Problem  : gate_theorem_truth
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( $true )).
