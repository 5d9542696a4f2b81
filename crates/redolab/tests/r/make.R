# Random samples, and what R prints of them: Rscript make.R [cases] [seed] > cases.txt
# Values are microseconds with at most three decimals, as redolab reads them.
arguments <- as.integer(commandArgs(TRUE))
cases <- if (length(arguments) > 0) arguments[1] else 120
set.seed(if (length(arguments) > 1) arguments[2] else 4)
draw <- function(n, level, spread, decimals) {
  v <- round(exp(rnorm(n, log(level), spread)), decimals)
  pmin(v, 1e10)
}
# The lines of print.htest of R 2.15 for t and the degrees of freedom.
old <- function(t) {
  cat(paste0("t = ", format(round(t$statistic, 4)), ", df = ", format(round(t$parameter, 3)), "\n"))
}
cat("# Made by Rscript make.R", cases, "with", R.version.string, "\n")
for (case in seq_len(cases)) {
  level <- 10^runif(1, -1, 8)
  spread <- 10^runif(1, -4, 0.3)
  decimals <- sample(c(0, 0, 1, 3), 1)
  a <- draw(sample(2:14, 1), level, spread, decimals)
  b <- draw(sample(2:14, 1), level * 10^runif(1, -0.02, 0.02), spread, decimals)
  if (var(a) + var(b) == 0) next
  t <- tryCatch(t.test(a, b), error = function(e) NULL)
  if (is.null(t)) next
  cat("a", format(a, nsmall = decimals, digits = 15, trim = TRUE, scientific = FALSE), "\n")
  cat("b", format(b, nsmall = decimals, digits = 15, trim = TRUE, scientific = FALSE), "\n")
  print(summary(a)); print(summary(b)); print(t); old(t)
  cat("end\n")
}
