# expect: own
# timeout: 800
def f(n)
  fork do
    Process.setsid
    sleep 0.2
    IO.for_fd(4, 'wb', autoclose: false).syswrite("V\"late\"\n")
    exit!(0)
  end
  'early'
end
