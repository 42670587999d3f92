# Signals the processes of the server in the folder $0, and ends them and the folder when standard input ends: however the
# process that holds it ended. PostgreSQL's processes have sessions of their own, so they are found by their working folder.
trap '' HUP INT TERM

processes() {
    find /proc/[0-9]*/cwd -maxdepth 0 \( -lname "$0" -o -lname "$0/*" \) -printf '%h\n' 2>/dev/null | cut -d / -f 3
}

# Twice, because a process may have started another one between the two steps.
signal() {
    kill -s "$1" $(processes) 2>/dev/null
    kill -s "$1" $(processes) 2>/dev/null
}

# Waits at most so many tenths of a second for all to have ended.
wait_for_end() {
    tenths=0
    while [ -n "$(processes)" ] && [ "$tenths" -lt "$1" ]; do
        sleep 0.1
        tenths=$((tenths + 1))
    done
}

# A server that is killed leaves files with its number, which it keeps until its parent asks how it ended, and a segment of shared
# memory, whose id is the last word of a line.
end_at_once() {
    signal KILL
    wait_for_end 100
    segment=$(sed -n '7s/.* //p' "$0/data/postmaster.pid" 2>/dev/null)
    if [ -n "$segment" ]; then
        ipcrm -m "$segment" 2>/dev/null
    fi
    rm -f "$0/data/postmaster.pid" "$0"/.s.PGSQL.*
}

while read -r name; do
    if [ "$name" = KILL ]; then
        end_at_once
    else
        signal "$name"
    fi
    echo done
done

signal CONT
signal QUIT
wait_for_end 50
end_at_once
rm -rf "$0"
