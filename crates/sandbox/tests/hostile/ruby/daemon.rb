# expect: value "started"
def f(n)
  fork do
    Process.setsid
    %w[TERM HUP INT].each { |name| trap(name, 'IGNORE') }
    fork { sleep }
    sleep
  end
  sleep 0.05
  'started'
end
