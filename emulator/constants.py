"""Clocks, geometry, address map and register bits of the DMG under their Pan Docs names.

Source: https://gbdev.io/pandocs/ (section named beside each group). Plain integers, so that
host code, Warp kernels, tests and documentation read the same numbers.
"""

# --- Clocks (https://gbdev.io/pandocs/Specifications.html) -----------------------------------
T_CYCLES_PER_SECOND = 4_194_304
M_CYCLES_PER_SECOND = T_CYCLES_PER_SECOND // 4
T_CYCLES_PER_FRAME = 70_224
M_CYCLES_PER_FRAME = T_CYCLES_PER_FRAME // 4
DOTS_PER_LINE = 456
M_CYCLES_PER_LINE = DOTS_PER_LINE // 4
LINES_PER_FRAME = 154

# --- Picture geometry --------------------------------------------------------------------------
SCREEN_WIDTH = 160
SCREEN_HEIGHT = 144
OBSERVATION_WIDTH = SCREEN_WIDTH // 2
OBSERVATION_HEIGHT = SCREEN_HEIGHT // 2

# --- Address map (https://gbdev.io/pandocs/Memory_Map.html) -----------------------------------
RAM_BANK_SIZE = 0x2000
VRAM = 0x8000
CART_RAM = 0xA000
WRAM = 0xC000
ECHO = 0xE000
OAM = 0xFE00
OAM_SIZE = 0xA0
UNUSABLE = 0xFEA0
IO = 0xFF00
HRAM = 0xFF80
IE = 0xFFFF

# --- Memory row: one contiguous row of bytes per console; offset = address - 0x8000 ------------
ROW_ORIGIN = 0x8000
ROW_VRAM = 0x0000
ROW_CART_RAM = 0x2000
ROW_WRAM = 0x4000
ROW_SCRATCH = 0x6000  # addresses E000-FDFF are an echo of WRAM, so the row is free here
ROW_LINE_BASE = ROW_SCRATCH  # inputs of the pictures (kernels/ppu/frame_log.py)
ROW_FINISHED_BASE = ROW_SCRATCH + 0x10
ROW_DRAFT_BASE = ROW_SCRATCH + 0x20
ROW_FINISHED_OAM = ROW_SCRATCH + 0x40
ROW_REGISTER_LOG = ROW_SCRATCH + 0x100
ROW_UNDO_TOP = ROW_SCRATCH + 0x1E00
NO_DMA_DOT = -100_000  # in a base: start of an OAM DMA so long ago that it does not matter
ROW_OAM = 0x7E00
ROW_IO = 0x7F00
ROW_HRAM = 0x7F80
SCREEN_BYTES = SCREEN_WIDTH * SCREEN_HEIGHT // 4  # per line: 20 bytes of low, 20 of high shade bits
ROW_SCREENS = 0x8000  # two packed pictures follow the 32 KiB image: one shown, one in the making
ROW_CART_RAM_BANK_1 = ROW_SCREENS + 2 * SCREEN_BYTES  # then banks 1.. of cartridge RAM

# --- I/O registers (https://gbdev.io/pandocs/Hardware_Reg_List.html) --------------------------
P1 = 0xFF00
SB = 0xFF01
SC = 0xFF02
DIV = 0xFF04
TIMA = 0xFF05
TMA = 0xFF06
TAC = 0xFF07
IF = 0xFF0F
NR10 = 0xFF10
NR11 = 0xFF11
NR12 = 0xFF12
NR13 = 0xFF13
NR14 = 0xFF14
NR21 = 0xFF16
NR22 = 0xFF17
NR23 = 0xFF18
NR24 = 0xFF19
NR30 = 0xFF1A
NR31 = 0xFF1B
NR32 = 0xFF1C
NR33 = 0xFF1D
NR34 = 0xFF1E
NR41 = 0xFF20
NR42 = 0xFF21
NR43 = 0xFF22
NR44 = 0xFF23
NR50 = 0xFF24
NR51 = 0xFF25
NR52 = 0xFF26
WAVE_RAM = 0xFF30
LCDC = 0xFF40
STAT = 0xFF41
SCY = 0xFF42
SCX = 0xFF43
LY = 0xFF44
LYC = 0xFF45
DMA = 0xFF46
BGP = 0xFF47
OBP0 = 0xFF48
OBP1 = 0xFF49
WY = 0xFF4A
WX = 0xFF4B

# --- Interrupt bits of IE and IF (https://gbdev.io/pandocs/Interrupts.html) -------------------
INTERRUPT_VBLANK = 0x01
INTERRUPT_STAT = 0x02
INTERRUPT_TIMER = 0x04
INTERRUPT_SERIAL = 0x08
INTERRUPT_JOYPAD = 0x10
INTERRUPT_MASK = 0x1F

# --- LCDC bits (https://gbdev.io/pandocs/LCDC.html) -------------------------------------------
LCDC_BG_ENABLE = 0x01
LCDC_OBJ_ENABLE = 0x02
LCDC_OBJ_SIZE = 0x04
LCDC_BG_MAP = 0x08
LCDC_TILE_DATA = 0x10
LCDC_WINDOW_ENABLE = 0x20
LCDC_WINDOW_MAP = 0x40
LCDC_ENABLE = 0x80

# --- STAT bits (https://gbdev.io/pandocs/STAT.html) -------------------------------------------
STAT_LYC_EQUAL = 0x04
STAT_HBLANK_SOURCE = 0x08
STAT_VBLANK_SOURCE = 0x10
STAT_OAM_SOURCE = 0x20
STAT_LYC_SOURCE = 0x40
STAT_SOURCES = STAT_HBLANK_SOURCE | STAT_VBLANK_SOURCE | STAT_OAM_SOURCE | STAT_LYC_SOURCE

# --- Flags, as they sit in F (https://gbdev.io/pandocs/CPU_Registers_and_Flags.html) ----------
FLAG_Z = 0x80
FLAG_N = 0x40
FLAG_H = 0x20
FLAG_C = 0x10

# --- Joypad masks of this package: a set bit is a held button ----------------------------------
BUTTON_NAMES = ("right", "left", "up", "down", "a", "b", "select", "start")

# --- Hand-off of the DMG boot ROM (EMULATOR_CLI: PC=0100 with the divider at ABCC) ------------
BOOT_DIVIDER_T_CYCLES = 0xABCC

MAX_BLOCK = 640
"""Most threads of a block of a launch: it bounds the GPU registers that a thread may use."""
BOUNCING = 1 << 30
"""Bit of a launch's `release_after`: buttons bounce."""
TAIL_WARPS = 2
"""Warps of a block that runs threaded code, one console each."""
