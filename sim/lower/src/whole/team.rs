//! Accelerators side by side, each in a thread of its own.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::Scope;

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::executor::{Executor, Move, Spent};

/// An order to a member.
enum Order {
    /// Bytes and their addresses, one after the other.
    Write(Vec<(u64, Vec<u8>)>),
    Read(u64, usize),
    Copy(Vec<Move>),
    Run(u64),
}

/// The answer of a member to an order to read or to run, or its end.
type Answer = Result<Outcome>;

enum Outcome {
    Bytes(Vec<u8>),
    Spent(Spent),
}

/// The orders to a member, up to the end of its team.
pub struct Orders {
    orders: Receiver<Order>,
    answers: Sender<Answer>,
}

impl Orders {
    /// Lets an executor do the orders until the team ends.
    ///
    /// # Errors
    /// The executor fails. No further order is done.
    pub fn serve(self, on: &mut dyn Executor) -> Result<()> {
        for order in self.orders {
            let outcome = match order {
                Order::Write(all) => {
                    for (address, bytes) in all {
                        on.write(address, &bytes)?;
                    }
                    continue;
                }
                Order::Copy(moves) => {
                    on.copy(&moves)?;
                    continue;
                }
                Order::Read(address, count) => {
                    let mut bytes = vec![0; count];
                    on.read(address, &mut bytes)?;
                    Outcome::Bytes(bytes)
                }
                Order::Run(job) => Outcome::Spent(on.run(job)?),
            };
            // Nobody listens after the team has ended.
            if self.answers.send(Ok(outcome)).is_err() {
                break;
            }
        }
        Ok(())
    }
}

struct Member {
    orders: SyncSender<Order>,
    answers: Receiver<Answer>,
    /// What it is to write before its next order. A thread that wakes up for each byte would sleep most of the time.
    writes: Vec<(u64, Vec<u8>)>,
    /// Bytes of these.
    waiting: usize,
}

/// So many bytes do not wait for the next order.
const MOST_WAITING: usize = 1 << 16;

/// So many orders wait for a member. The host of more orders waits, too, or weights would pile up in front of a slow
/// member.
const MOST_ORDERS: usize = 16;

/// Accelerators side by side: one [`Executor`] of several parts, each with a memory of its own. They run a job at the
/// same time, and the host waits for all.
pub struct Team {
    members: Vec<Member>,
    /// A member has failed. No member gets orders then.
    failed: bool,
}

impl Team {
    /// Begins a thread for each member. The thread makes the executor that [serves](Orders::serve) the orders. Threads
    /// end when the team is dropped, which must be before the end of the scope.
    pub fn new<'scope, M>(scope: &'scope Scope<'scope, '_>, members: Vec<M>) -> Self
    where
        M: FnOnce(Orders) -> Result<()> + Send + 'scope,
    {
        let begin = |work: M| {
            let ((orders, received), (answers, answered)) = (sync_channel(MOST_ORDERS), channel());
            scope.spawn(move || {
                let its = Orders { orders: received, answers: answers.clone() };
                if let Err(error) = work(its) {
                    // Nobody listens after the team has ended.
                    let _ = answers.send(Err(error));
                }
            });
            Member { orders, answers: answered, writes: Vec::new(), waiting: 0 }
        };
        Self { members: members.into_iter().map(begin).collect(), failed: false }
    }

    fn member(&mut self, part: usize) -> Result<&mut Member> {
        let count = self.members.len();
        self.members.get_mut(part).with_context(|| format!("no accelerator {part}, there are {count}"))
    }

    /// Gives an order after all writes before it.
    fn order(&mut self, part: usize, order: Order) -> Result<()> {
        self.write_all(part)?;
        self.send(part, order)
    }

    fn write_all(&mut self, part: usize) -> Result<()> {
        let member = self.member(part)?;
        member.waiting = 0;
        let writes = std::mem::take(&mut member.writes);
        if writes.is_empty() { Ok(()) } else { self.send(part, Order::Write(writes)) }
    }

    fn send(&mut self, part: usize, order: Order) -> Result<()> {
        ensure!(!self.failed, "an accelerator of these has failed");
        if self.member(part)?.orders.send(order).is_err() {
            // Report why its thread has ended.
            self.answer(part)?;
            bail!("accelerator {part}: its thread has ended");
        }
        Ok(())
    }

    fn answer(&mut self, part: usize) -> Result<Outcome> {
        let answer = self.member(part)?.answers.recv();
        let answer = answer.unwrap_or_else(|_| Err(anyhow!("its thread has ended")));
        self.failed |= answer.is_err();
        answer.with_context(|| format!("accelerator {part}"))
    }
}

impl Executor for Team {
    fn parts(&self) -> usize {
        self.members.len()
    }

    fn write_part(&mut self, part: usize, address: u64, bytes: &[u8]) -> Result<()> {
        let member = self.member(part)?;
        member.writes.push((address, bytes.to_vec()));
        member.waiting += bytes.len();
        if member.waiting < MOST_WAITING { Ok(()) } else { self.write_all(part) }
    }

    fn read_part(&mut self, part: usize, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.order(part, Order::Read(address, bytes.len()))?;
        match self.answer(part)? {
            Outcome::Bytes(read) => bytes.copy_from_slice(&read),
            Outcome::Spent(_) => bail!("accelerator {part} answers a read as a job"),
        }
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        (0..self.parts()).try_for_each(|part| self.write_part(part, address, bytes))
    }

    /// Each member moves bytes within its own memory.
    fn copy(&mut self, moves: &[Move]) -> Result<()> {
        (0..self.parts()).try_for_each(|part| self.order(part, Order::Copy(moves.to_vec())))
    }

    /// Reads from the first member. All members have the same data, except their shares.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.read_part(0, address, bytes)
    }

    /// All members run the job at the same time. Cycles are the longest member's. Descriptors are one member's, because
    /// all have as many. Counts of numbers that did not fit are sums over all members, so work that all do is counted
    /// for each.
    fn run(&mut self, job: u64) -> Result<Spent> {
        for part in 0..self.parts() {
            self.order(part, Order::Run(job))?;
        }
        let mut all = Spent::default();
        for part in 0..self.parts() {
            let Outcome::Spent(spent) = self.answer(part)? else { bail!("accelerator {part} answers a job as a read") };
            let (cycles, computing) = (all.cycles, all.computing).max((spent.cycles, spent.computing));
            let descriptors = all.descriptors.max(spent.descriptors);
            all += spent;
            all = Spent { cycles, computing, descriptors, ..all };
        }
        Ok(all)
    }
}
