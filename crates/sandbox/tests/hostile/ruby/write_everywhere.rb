# expect: value "held"
require 'rbconfig'
def f(n)
  folders = ['', '/tmp', '/var/tmp', '/dev/shm', '/dev', '/etc', '/usr', '/usr/lib', RbConfig::CONFIG['rubylibdir'], '.',
             '/run', '/home', '/root', '@FOLDER@']
  tried(folders.to_h { |folder| ["#{folder}/", -> { File.binwrite("#{folder}/hostile-file", 'x') }] }
    .merge('mkdir' => -> { Dir.mkdir('/tmp/hostile-folder') },
           'symlink' => -> { File.symlink('/', '/tmp/hostile-link') },
           'fifo' => -> { File.mkfifo('/tmp/hostile-fifo') }))
end
