% Problem  : syj206_06
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( ((((((a1 <=> a2) <=> a3) <=> a4) <=> a5) <=> a6) <=> (a6 <=> (a5 <=> (a4 <=> (a3 <=> (a2 <=> a1)))))) )).
