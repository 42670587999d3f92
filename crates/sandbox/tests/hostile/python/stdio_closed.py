# expect: text 
# mode: stdio
os.close(1)
sys.stdout = None
