//! x
use proofmark_predicate::Predicate;
fn main(){
  let shapes=[("(", "1", ")"),("[", "1", "]"),("{1:", "1", "}"),("!", "true", ""),("-", "x", ""),("dyn(", "x", ")"),("x[", "0", "]"),("", "x", "[0]"),("true ? ", "1", " : 1"),("", "true", " ? true : true"),("x.all(y, ", "y", ")"),("1 + (", "1", ")"),("(true && ", "true", ")"),("(1 + 2 * ", "1", ")"),("[1].map(x, ", "1", ")"),("true && (false || ", "true", ")"),("!(true && ","true",")"),("true && (2 > 1 * ", "1", ") || true")];
  let which: usize = std::env::args().nth(1).unwrap().parse().unwrap();
  let kb: usize = std::env::args().nth(2).unwrap().parse().unwrap();
  let (o,m,c)=shapes[which];
  let mut best=0;
  let t=std::thread::Builder::new().stack_size(kb*1024).spawn(move||{
    let mut ok=0;
    for d in 1..=200 { let s=format!("{}{m}{}",o.repeat(d),c.repeat(d)); match Predicate::compile(&s){Ok(p)=>{ok=d; let f: proofmark_predicate::Value=[("x",proofmark_predicate::Value::Null)].into_iter().collect(); let f: proofmark_predicate::Value=f; let _=p.evaluate(&f);} Err(_)=>{}} }
    ok}).unwrap();
  best=t.join().unwrap();
  println!("{which} {o:?} ok to {best} in {kb}KB");
}
