use hdl::blocks::common::*;
use hdl::lang::*;
fn main() {
    for p in std::iter::once(AxiReadDma::default())
        .chain(AxiReadDma::configurations())
        .chain(AxiReadDma::proofs().into_iter().map(|p| p.block))
    {
        match elaborate(&p) {
            Ok(_) => println!("ok"),
            Err(e) => println!("{e}"),
        }
    }
    for p in std::iter::once(AxiWriteDma::default())
        .chain(AxiWriteDma::configurations())
        .chain(AxiWriteDma::proofs().into_iter().map(|p| p.block))
    {
        match elaborate(&p) {
            Ok(_) => println!("ok"),
            Err(e) => println!("{e}"),
        }
    }
}
