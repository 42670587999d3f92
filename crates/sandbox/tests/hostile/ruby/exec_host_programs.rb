# expect: value "held"
def f(n)
  runs = lambda do |path|
    lambda do
      pid = fork do
        exec([path, path], '--version')
      rescue SystemCallError
        exit!(99)
      end
      Process.wait2(pid)[1].exitstatus != 99
    end
  end
  paths = %w[/usr/bin/su /usr/bin/sudo /bin/mount /usr/bin/bash /bin/sh /usr/bin/node /usr/bin/python3]
  tried(paths.to_h { |path| [path, runs.(path)] }.merge('shell' => -> { `id` }, 'system' => -> { system('id', exception: true) }))
end
