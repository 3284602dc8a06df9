% Problem  : syj205_01
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( ((((a0 => f) & (((b1 => b0) => a1) & ((b0 => a1) => a0))) => f) & ((((b0 => a1) => a0) & (((b1 => b0) => a1) & (a0 => f))) => f)) )).
