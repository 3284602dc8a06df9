% Problem  : syj205_04
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( ((((a0 => f) & (((b4 => b0) => a4) & (((b0 => a1) => a0) & (((b1 => a2) => a1) & (((b2 => a3) => a2) & ((b3 => a4) => a3)))))) => f) & ((((b3 => a4) => a3) & (((b2 => a3) => a2) & (((b1 => a2) => a1) & (((b0 => a1) => a0) & (((b4 => b0) => a4) & (a0 => f)))))) => f)) )).
