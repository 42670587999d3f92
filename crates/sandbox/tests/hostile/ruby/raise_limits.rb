# expect: value "held"
def f(n)
  names = %w[NPROC DATA CPU NOFILE FSIZE CORE MEMLOCK STACK]
  tried(names.to_h { |name| [name, -> { Process.setrlimit(name, Process::RLIM_INFINITY, Process::RLIM_INFINITY) }] })
end
