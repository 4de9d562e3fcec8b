//! The registers that all accelerators have, and the block that has only these.
//!
//! An accelerator with registers of its own places all registers in a block of its own. The block has a port of kind
//! `RegisterPorts<ShellFields>` and one for its own registers, and gives both to one [`serve`].

use crate::blocks::common::bus::{AxiLiteSubordinate, AxiSpec, serve};
use crate::lang::operation;
use crate::lang::registers::{Command, Constant, Pulse, ReadOnly, ReadWrite, Sticky};
use crate::lang::{
    About, Block, CatalogBlock, Module, Out, RegisterPorts, Signal, Timing, bit, parameters, ports, power_of_two,
    registers,
};

/// The value of `ID`: the bytes `SNBZ`.
pub const ID: u64 = operation::MAGIC as u64;

/// Version of the registers and of the header of descriptors.
pub const VERSION: u64 = operation::VERSION as u64;

/// Bytes from the first register to where an accelerator's own may begin.
pub const OWN_REGISTERS: u32 = 0x100;

parameters! {
    /// The ports to memory, as a driver needs to know them.
    pub struct BusCaps {
        /// Bits of an address.
        address_width: u32 = 64, in 13..=64;
        /// Bits of a beat.
        data_width: u32 = 128, in power_of_two(32..=1024);
        /// How many there are.
        ports: u32 = 1, in 1..=32;
    }
}

impl BusCaps {
    /// The widths of this bus, with so many ports.
    #[must_use]
    pub fn of(axi: &AxiSpec, ports: u32) -> Self {
        Self { address_width: axi.address_width, data_width: axi.data_width, ports }
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct ShellRegisters {
        /// Number of the accelerator, for drivers.
        accelerator: u32 = 0, in 0..=65535, tag "k";
        /// Descriptors after which a chain ends with an error, after reset.
        max_descriptors: u32 = 65536, in 1..=1_073_741_824;
        /// How the accelerator reaches memory.
        bus: BusCaps = BusCaps::default(), named "when set";
    }
}

registers! {
    /// The fields between hardware and host.
    pub struct ShellFields(p: ShellRegisters) {
        /// Identifies these registers.
        ID at 0x000 {
            /// Always the bytes SNBZ.
            id: Constant = (32, ID) at 0,
        }
        /// Kind of accelerator and version.
        VERSION at 0x004 {
            /// Version of these registers and of descriptors.
            version: Constant = (16, VERSION) at 0,
            /// Number of the accelerator.
            accelerator: Constant = (16, p.accelerator.into()) at 16,
        }
        /// Requests of the host.
        CONTROL at 0x008 {
            /// Starts the job at JOB; refused while busy.
            start: Pulse = 1 at 0,
            /// Ends the job: nothing new is begun, no result; reads as 1 until the bus is idle.
            soft_reset: Command = () at 1,
        }
        /// State of the job.
        STATUS at 0x00c {
            /// A job runs.
            busy: ReadOnly = 1 at 0,
            /// A job came to its end, and all its results are in memory.
            done: Sticky = 1 at 1,
            /// A job ended with an error; see ERROR_CODE.
            error: Sticky = 1 at 2,
            /// A start was refused: a job ran, or the bus was not idle.
            refused: Sticky = 1 at 3,
        }
        /// Which bits of STATUS raise the interrupt.
        IRQ_ENABLE at 0x010 {
            /// Interrupt while done is set.
            irq_done: ReadWrite = (1, 0) at 1,
            /// Interrupt while error is set.
            irq_error: ReadWrite = (1, 0) at 2,
            /// Interrupt while refused is set.
            irq_refused: ReadWrite = (1, 0) at 3,
        }
        /// Limit for memory that does not answer.
        TIMEOUT at 0x014 {
            /// Cycles that a port to memory waits without any answer before the job ends with an error; 0: no limit. A
            /// link of accelerators waits as long if its operation names no time.
            timeout: ReadWrite = (32, 0) at 0,
        }
        /// Limit for chains that do not end.
        MAX_DESCRIPTORS at 0x018 {
            /// Descriptors of a job; the next one is an error.
            max_descriptors: ReadWrite = (32, p.max_descriptors.into()) at 0,
        }
        /// Reason of the last error.
        ERROR_CODE at 0x01c {
            /// Number of the first error; valid from error on, up to the next start.
            error_code: ReadOnly = 8 at 0,
        }
        /// Place of the last error.
        ERROR_WHERE at 0x020 {
            /// Address of the descriptor; valid as ERROR_CODE.
            error_where: ReadOnly = 64 at 0,
        }
        /// The job.
        JOB at 0x028 {
            /// Address of the first descriptor.
            job: ReadWrite = (64, 0) at 0,
        }
        /// Memory that jobs may touch, from here.
        WINDOW_BASE at 0x030 {
            /// Address of its first byte. If whole beats are to stay inside, a multiple of the bytes of a beat, and of
            /// 64.
            window_base: ReadWrite = (64, 0) at 0,
        }
        /// Memory that jobs may touch, up to here.
        WINDOW_LIMIT at 0x038 {
            /// Address of its last byte. If whole beats are to stay inside, one less than such a multiple.
            window_limit: ReadWrite = (64, u64::MAX) at 0,
        }
        /// How far the job is.
        TAG at 0x040 {
            /// Tag of the descriptor that was completed last; 0 from start on.
            tag: ReadOnly = 32 at 0,
        }
        /// How far the job is.
        DESCRIPTORS at 0x044 {
            /// Descriptors of the job that are completed.
            descriptors: ReadOnly = 32 at 0,
        }
        /// Attributes of all accesses to memory.
        BUS at 0x048 {
            /// ARCACHE.
            read_cache: ReadWrite = (4, 3) at 0,
            /// AWCACHE.
            write_cache: ReadWrite = (4, 3) at 4,
            /// ARPROT and AWPROT.
            prot: ReadWrite = (3, 0) at 8,
        }
        /// The ports to memory.
        CAPS_BUS at 0x04c {
            /// Bits of an address. Higher addresses are refused like addresses outside of the window.
            address_width: Constant = (8, p.bus.address_width.into()) at 0,
            /// Ports.
            ports: Constant = (8, p.bus.ports.into()) at 8,
            /// Bits of a beat.
            data_width: Constant = (16, p.bus.data_width.into()) at 16,
        }
        /// Time of the job, or of the last one.
        CYCLES at 0x080 {
            /// Cycles from start to done or error.
            cycles: ReadOnly = 64 at 0,
        }
        /// Work of the job.
        COMPUTE_CYCLES at 0x088 {
            /// Cycles in which the array or the lanes computed.
            compute_cycles: ReadOnly = 64 at 0,
        }
        /// Reads of the job.
        READ_BEATS at 0x090 {
            /// Beats that were read, on all ports.
            read_beats: ReadOnly = 64 at 0,
        }
        /// Writes of the job.
        WRITE_BEATS at 0x098 {
            /// Beats that were written, on all ports.
            write_beats: ReadOnly = 64 at 0,
        }
        /// Reads of the job.
        READ_WAITS at 0x0a0 {
            /// Cycles in which some DMA that reads operands had a command and no beat, although its output was ready.
            /// Waits for descriptors do not count.
            read_waits: ReadOnly = 64 at 0,
        }
        /// Writes of the job.
        WRITE_WAITS at 0x0a8 {
            /// Cycles in which some port offered a beat to memory, and it was not taken.
            write_waits: ReadOnly = 64 at 0,
        }
    }
}

impl ShellFields {
    /// The interrupt: some enabled status bit is set.
    #[track_caller]
    #[must_use]
    pub fn irq(&self) -> Signal {
        (self.done.value & self.irq_done)
            | (self.error.value & self.irq_error)
            | (self.refused.value & self.irq_refused)
    }
}

ports! {
    /// Ports of [`ShellRegisters`].
    pub struct ShellRegistersPorts(p: &ShellRegisters) {
        /// Bus of the host.
        ctrl: AxiLiteSubordinate = 12,
        /// The hardware side.
        shell: RegisterPorts<ShellFields> = p.clone(),
        /// Level: an enabled bit of STATUS is set.
        irq_o: Out = bit(),
    }
}

impl Block for ShellRegisters {
    type Ports = ShellRegistersPorts;
    const ABOUT: About = About {
        name: "shell_registers",
        summary: "the registers of all accelerators on AXI4-Lite",
        contract: "The registers that the table next to the Verilog lists. The bus behaves as in axi_lite_registers.\n\
            Reset clears the fields that the host wrote and all of STATUS. irq_o is high while a bit of STATUS is\n\
            set whose enable bit is set.",
        reference: "AMBA AXI and ACE Protocol Specification, ARM IHI 0022, part B",
    };

    fn build(&self, m: &mut Module, io: &ShellRegistersPorts) {
        serve(m, &io.ctrl, &[&io.shell.served]);
        m.connect(io.irq_o, io.shell.irq());
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(1).beat(2)
    }
}

impl CatalogBlock for ShellRegisters {
    fn configurations() -> Vec<Self> {
        let bus = BusCaps { address_width: 40, data_width: 1024, ports: 32 };
        vec![Self { accelerator: 65535, max_descriptors: 1, bus }]
    }
}
