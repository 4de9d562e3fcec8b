//! Random modules: registers, memories, state machines, loops, values that ripple, and instances of other random modules.

use hdl::lang::*;
use rand::RngExt;
use sim::stimulus::{StimulusRng, rng};

use crate::fuzz::design::{ARRAY, Fuzz, FuzzPorts, describe};
use crate::fuzz::generate::{expression, random_type};

/// Bits of the output that follows from most values.
const SEEN: u32 = 48;

/// A random module. The seed says everything about it.
#[derive(Clone, Debug)]
pub struct Random {
    pub seed: u64,
    /// Levels of instances below it, at most.
    pub depth: u32,
}

#[derive(Debug)]
pub struct RandomPorts {
    pub inputs: Vec<Signal>,
    pub array: Array,
    pub outputs: Vec<Signal>,
    pub row: Array,
    /// Follows from most values that the module has.
    pub seen: Signal,
}

impl Random {
    /// Types of its inputs, and of its outputs. The last one of each is the type of an array's elements.
    fn types(&self) -> [Vec<Type>; 2] {
        let mut rng = rng(self.seed);
        [(); 2].map(|()| (0..4).map(|_| ty(&mut rng)).collect())
    }
}

impl RandomPorts {
    /// The ports of a random module, each with `prefix` before its name.
    pub fn with_prefix(b: &mut PortBuilder, p: &Random, prefix: &str) -> Self {
        let [inputs, outputs] = p.types();
        let mut scalars = |types: &[Type], direction, name: &str, side: &str| {
            let scalar = |(k, &ty): (usize, &Type)| b.scalar(&format!("{prefix}{name}{k}_{side}"), direction, ty);
            types[..3].iter().enumerate().map(scalar).collect()
        };
        let [x, y] = [(&inputs, Direction::Input, "x", "i"), (&outputs, Direction::Output, "y", "o")]
            .map(|(types, direction, name, side)| scalars(types, direction, name, side));
        Self {
            inputs: x,
            array: b.array(&format!("{prefix}v_i"), Direction::Input, inputs[3].array(ARRAY)),
            outputs: y,
            row: b.array(&format!("{prefix}w_o"), Direction::Output, outputs[3].array(ARRAY)),
            seen: b.scalar(&format!("{prefix}seen_o"), Direction::Output, uint(SEEN)),
        }
    }
}

impl Ports<Random> for RandomPorts {
    fn declare(b: &mut PortBuilder, p: &Random) -> Self {
        Self::with_prefix(b, p, "")
    }
}

impl Parameters for Random {
    const SOURCE: &'static str = file!();

    fn values(&self) -> serde_json::Value {
        format!("{} {}", self.seed, self.depth).into()
    }
}

impl Block for Random {
    type Ports = RandomPorts;
    const ABOUT: About = About {
        name: "random",
        summary: "random hardware",
        contract: "whatever the simulators agree on",
        reference: "",
    };

    fn module_name(&self) -> String {
        format!("random_{:x}_{}", self.seed, self.depth)
    }

    fn build(&self, m: &mut Module, io: &RandomPorts) {
        let values = FuzzPorts { inputs: io.inputs.clone(), arrays: vec![io.array], outputs: vec![] };
        Draw { m, rng: rng(self.seed ^ 0x5eed), values, names: 0, depth: self.depth }.module(io);
    }
}

/// A type; wide ones are rare, because they are slow to compile.
fn ty(rng: &mut StimulusRng) -> Type {
    let ty = random_type(rng);
    if ty.width > 64 && rng.random_ratio(1, 2) { Type { width: ty.width / 4, ..ty } } else { ty }
}

/// A module that is being drawn.
struct Draw<'a> {
    m: &'a mut Module,
    rng: StimulusRng,
    /// Signals that expressions can read.
    values: FuzzPorts,
    names: usize,
    depth: u32,
}

/// Where in a loop an expression stands: the loop variable, and a value of that turn.
type At = Option<(Index, Option<Signal>)>;

impl Draw<'_> {
    fn module(mut self, io: &RandomPorts) {
        io.inputs.iter().for_each(|&x| self.m.unused(x));
        self.m.unused(io.array.at(0));
        let registers = self.registers();
        let rows = self.rows();
        for _ in 0..self.rng.random_range(1..4) {
            match self.rng.random_range(0..7) {
                0 => self.wire(),
                1 => self.each(),
                2 => self.ripple(),
                3 => self.memory(),
                4 => self.state_machine(),
                5 if self.depth > 0 => self.instance(),
                6 if self.depth > 0 => self.instances(),
                _ => self.wire(),
            }
        }
        for register in registers {
            self.drive(register);
        }
        for row in rows {
            self.drive_row(row);
        }
        for &output in &io.outputs {
            let value = self.value(output.ty());
            self.m.connect(output, value);
        }
        self.connect_row(io.row);
        self.see_all(io.seen);
    }

    fn see_all(&mut self, seen: Signal) {
        let arrays = self.values.arrays.iter().flat_map(|array| array.elements());
        let values: Vec<Signal> = self.values.inputs.iter().copied().chain(arrays).collect();
        // Not quite all, or nothing would be left that only registers read.
        let values: Vec<Signal> = values.into_iter().filter(|_| self.rng.random_ratio(2, 3)).collect();
        let mut all = uint(SEEN).lit(0);
        for (k, value) in values.into_iter().enumerate() {
            // Each at another place, so that equal ones do not go.
            let (bits, by) = (value.as_uint().extend(value.width().max(SEEN)), k as u32 % SEEN);
            let high = if bits.width() > SEEN { bits.slice(SEEN..bits.width()).parity() } else { bit().lit(0) };
            let low = bits.truncate(SEEN) ^ high.extend(SEEN);
            all = all ^ if by == 0 { low } else { cat(&[low.slice(0..SEEN - by), low.slice(SEEN - by..SEEN)]) };
        }
        self.m.connect(seen, all);
    }

    fn name(&mut self, what: &str) -> String {
        self.names += 1;
        format!("{what}{}", self.names)
    }

    /// An expression of a type.
    fn at(&mut self, ty: Type, at: At) -> Signal {
        let inputs = self.values.inputs.iter().map(|s| s.ty()).collect();
        let arrays = self.values.arrays.iter().map(|a| a.ty().element).collect();
        let fuzz = Fuzz { name: String::new(), inputs, arrays, cases: vec![] };
        let looped = at.map(|(_, local)| (ARRAY, local.map(|l| l.ty())));
        let size = self.rng.random_range(1..4);
        let dag = expression(&fuzz, ty, looped, size, &mut self.rng);
        let place = at.map(|(i, _)| [i, Index::from(0)]);
        let name = self.name("e");
        describe(&dag, self.m, &self.values, &name, place, at.and_then(|(_, local)| local))
    }

    fn value(&mut self, ty: Type) -> Signal {
        self.at(ty, None)
    }

    fn keep(&mut self, value: Signal) {
        self.m.unused(value);
        self.values.inputs.push(value);
    }

    fn keep_all(&mut self, array: Array) {
        self.m.unused(array.at(0));
        self.values.arrays.push(array);
    }

    /// For each element: the builder writes `body` once, in a loop.
    fn for_each(&mut self, count: u32, body: impl FnOnce(&mut Draw<'_>, Index)) {
        let name = self.name("l");
        // Names, values and the generator go into the loop and come back.
        let (rng, names, depth) = (self.rng.clone(), self.names, self.depth);
        let values = std::mem::replace(&mut self.values, FuzzPorts { inputs: vec![], arrays: vec![], outputs: vec![] });
        let mut after = None;
        self.m.for_each(&name, count, |m, i| {
            let mut inner = Draw { m, rng, values, names, depth };
            body(&mut inner, i);
            after = Some((inner.rng, inner.values, inner.names));
        });
        if let Some((rng, values, names)) = after {
            (self.rng, self.values, self.names) = (rng, values, names);
        }
    }

    fn registers(&mut self) -> Vec<Reg> {
        let mut all = Vec::new();
        for _ in 0..self.rng.random_range(1..4) {
            let (name, ty) = (self.name("r"), ty(&mut self.rng));
            let register = if self.rng.random() {
                self.m.reg(&name, ty)
            } else {
                let init = crate::fuzz::generate::value(ty, &mut self.rng);
                self.m.reg_init(&name, ty, init)
            };
            self.keep(register.q);
            all.push(register);
        }
        all
    }

    fn rows(&mut self) -> Vec<Regs> {
        let mut all = Vec::new();
        for _ in 0..self.rng.random_range(0..3) {
            let (name, ty) = (self.name("q"), ty(&mut self.rng));
            let row = if self.rng.random() {
                self.m.regs(&name, ty, ARRAY)
            } else {
                let init = crate::fuzz::generate::value(ty, &mut self.rng);
                self.m.regs_init(&name, ty, ARRAY, init)
            };
            self.keep_all(row.q);
            all.push(row);
        }
        all
    }

    fn drive(&mut self, register: Reg) {
        let next = self.value(register.q.ty());
        if self.rng.random() {
            let enable = self.value(bit());
            register.next_when(enable, next);
        } else {
            register.next(next);
        }
    }

    fn drive_row(&mut self, row: Regs) {
        let ty = row.q.ty().element;
        // One enable for all elements, one for each, or none.
        let kind = self.rng.random_range(0..3);
        let common = (kind == 0).then(|| self.value(bit()));
        self.for_each(ARRAY, |draw, i| {
            let next = draw.at(ty, Some((i, Some(row.q.at(i)))));
            match (kind, common) {
                (0, Some(enable)) => row.next_when(draw.m, i, enable, next),
                (1, _) => {
                    let enable = draw.at(bit(), Some((i, None)));
                    row.next_when(draw.m, i, enable, next);
                }
                _ => row.next(draw.m, i, next),
            }
        });
    }

    fn wire(&mut self) {
        let ty = ty(&mut self.rng);
        let value = self.value(ty);
        let name = self.name("n");
        let wire = self.m.wire(&name, value);
        self.keep(wire);
    }

    /// An array of nets, in a loop.
    fn each(&mut self) {
        let (name, ty) = (self.name("a"), ty(&mut self.rng));
        let nets = self.m.nets(&name, ty, ARRAY);
        self.connect_row(nets);
        self.keep_all(nets);
    }

    fn connect_row(&mut self, nets: Array) {
        let ty = nets.ty().element;
        self.for_each(ARRAY, |draw, i| {
            let value = draw.at(ty, Some((i, None)));
            draw.m.connect(nets.at(i), value);
        });
    }

    /// An array whose elements follow from their neighbours, upwards or downwards.
    fn ripple(&mut self) {
        let (name, ty) = (self.name("p"), ty(&mut self.rng));
        let nets = self.m.nets(&name, ty, ARRAY);
        let last = i64::from(ARRAY) - 1;
        let up: bool = self.rng.random();
        let first = self.value(ty);
        self.m.connect(nets.at(if up { 0 } else { last }), first);
        self.for_each(ARRAY - 1, |draw, i| {
            let (from, to) = if up { (i, i + 1) } else { (i + 1, i) };
            let value = draw.at(ty, Some((i, Some(nets.at(from)))));
            draw.m.connect(nets.at(to), value);
        });
        self.keep_all(nets);
    }

    /// An address that is no constant: tools refuse one that is past the end.
    fn address(&mut self, ty: Type) -> Signal {
        self.value(ty) ^ self.values.inputs[0].as_uint().bit(0).repeat(ty.width)
    }

    fn memory(&mut self) {
        let granules = if self.rng.random() { 1 } else { [2, 3, 9, 20, 70][self.rng.random_range(0..5)] };
        let granule = [1, 2, 3, 8, 17][self.rng.random_range(0..5)].min(140 / granules);
        let depth = self.rng.random_range(2..12);
        let name = self.name("m");
        let memory = self.m.memory(&name, depth, granule * granules, granule);
        let ports = self.rng.random_range(1..3);
        for port in 0..ports {
            // One granule as often as any of them.
            let enable = if self.rng.random() {
                self.value(uint(granules))
            } else {
                let inputs = cat(&self.values.inputs.iter().map(|input| input.as_uint()).collect::<Vec<_>>());
                let places = index_width(u64::from(granules)) + 1;
                uint(granules).lit(1).shl_by(inputs.extend(inputs.width().max(places)).truncate(places))
            };
            let mut address = self.address(memory.address_type());
            if ports > 1 {
                // Two ports never write the same word, since the language does not say which one wins.
                let width = address.width();
                let parity = bit().lit(port);
                address = if width == 1 { parity } else { cat(&[address.slice(1..width), parity]) };
            }
            let data = self.value(uint(granule * granules));
            memory.write(enable, address, data);
        }
        for _ in 0..self.rng.random_range(1..3) {
            let address = self.address(memory.address_type());
            let name = self.name("d");
            let data = if self.rng.random() {
                let enable = self.value(bit());
                memory.read(&name, enable, address)
            } else {
                memory.read_async(&name, address)
            };
            self.keep(data);
        }
    }

    fn state_machine(&mut self) {
        let names = ["Idle", "Load", "Run", "Drain", "Done"];
        let states = &names[..self.rng.random_range(2..6)];
        let name = self.name("s");
        let fsm = self.m.fsm(&name, states);
        for _ in 0..self.rng.random_range(1..6) {
            let (from, to) = (self.rng.random_range(0..states.len()), self.rng.random_range(0..states.len()));
            let condition = self.value(bit());
            fsm.goto(states[from], condition, states[to]);
        }
        let state = fsm.is(states[self.rng.random_range(0..states.len())]);
        let name = self.name("n");
        let state = self.m.wire(&name, state);
        self.keep(state);
    }

    fn child(&mut self) -> Random {
        Random { seed: self.rng.random(), depth: self.depth - 1 }
    }

    fn instance(&mut self) {
        let (name, child) = (self.name("u_c"), self.child());
        let ports = self.m.instance(&name, child);
        for input in ports.inputs {
            let value = self.value(input.ty());
            self.m.connect(input, value);
        }
        self.connect_row(ports.array);
        for output in ports.outputs {
            let name = self.name("n");
            let output = self.m.wire(&name, output);
            self.keep(output);
        }
        self.keep_all(ports.row);
        let name = self.name("n");
        let seen = self.m.wire(&name, ports.seen);
        self.keep(seen);
    }

    /// The same module in each turn of a loop.
    fn instances(&mut self) {
        let child = self.child();
        let name = self.name("u_c");
        let [_, outputs] = child.types();
        let array = |&ty: &Type| {
            let name = self.name("a");
            self.m.nets(&name, ty, ARRAY)
        };
        let results: Vec<Array> = outputs[..3].iter().map(array).collect();
        let seen = self.name("a");
        let seen = self.m.nets(&seen, uint(SEEN), ARRAY);
        self.for_each(ARRAY, |draw, i| {
            let ports = draw.m.instance(&name, child);
            for input in ports.inputs {
                let value = draw.at(input.ty(), Some((i, None)));
                draw.m.connect(input, value);
            }
            let ty = ports.array.ty().element;
            for k in 0..ARRAY {
                let value = draw.at(ty, Some((i, None)));
                draw.m.connect(ports.array.at(k), value);
            }
            for (&result, &output) in results.iter().zip(&ports.outputs) {
                draw.m.connect(result.at(i), output);
            }
            draw.m.unused(ports.row.at(0));
            draw.m.connect(seen.at(i), ports.seen);
        });
        for result in results.into_iter().chain([seen]) {
            self.keep_all(result);
        }
    }
}
