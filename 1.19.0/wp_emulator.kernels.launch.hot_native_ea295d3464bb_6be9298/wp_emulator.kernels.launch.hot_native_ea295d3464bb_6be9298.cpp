#define WP_NO_BFLOAT16

#define WP_TILE_BLOCK_DIM 1
#define WP_NO_CRT
#include "builtin.h"
#include "deterministic.h"

#define builtin_tid1d() wp::linear_tid<wp_linear_tid>(task_index, dim)
#define builtin_tid2d(x, y) wp::tid(x, y, task_index, dim)
#define builtin_tid3d(x, y, z) wp::tid(x, y, z, task_index, dim)
#define builtin_tid4d(x, y, z, w) wp::tid(x, y, z, w, task_index, dim)

#define builtin_block_dim() wp::block_dim()


// avoid namespacing of float type for casting to float type, this is to avoid wp::float(x), which is not valid in C++
#define float(x) cast_float(x)
#define adj_float(x, adj_x, adj_ret) adj_cast_float(x, adj_x, adj_ret)

#define int(x) cast_int(x)
#define adj_int(x, adj_x, adj_ret) adj_cast_int(x, adj_x, adj_ret)


struct NativeState_333cb507
{
    wp::int64 limit;
    wp::int64 due;
    wp::int64 stable_t;
    wp::int64 deadline_t;
    wp::uint64 base;
    wp::int64 soon;
    wp::int64 close_t;
    wp::vec_t<2, wp::uint64> bases;
    wp::vec_t<9, wp::uint64> reads;
    wp::vec_t<9, wp::uint64> writes;
    wp::uint32 window;
    wp::uint32 sp;
    wp::uint32 address;
    wp::uint32 value;
    wp::uint32 memory;
    wp::uint32 asked;
    wp::uint64 seen_first;
    wp::uint64 seen_second;
    wp::uint32 seen_pc;
    wp::uint32 seen_time;
    wp::uint32 stable;
    wp::uint32 vram_until;
    wp::uint32 idle_skip;
    wp::uint32 fast;
    wp::uint32 rom_low;
    wp::uint32 rom_high;
    wp::uint32 ram_offset;
    wp::uint64 console;
    wp::uint64 mem;
    wp::uint64 rom;
    wp::uint64 words;
    wp::uint64 control;
    wp::uint64 scratch;
    wp::uint64 table;
    wp::uint64 hot_words;
    wp::uint64 walked;
    wp::uint32 stack;
    wp::uint32 stacks;


    NativeState_333cb507() = default;
    CUDA_CALLABLE NativeState_333cb507(wp::int64 const& limit,
    wp::int64 const& due = {},
    wp::int64 const& stable_t = {},
    wp::int64 const& deadline_t = {},
    wp::uint64 const& base = {},
    wp::int64 const& soon = {},
    wp::int64 const& close_t = {},
    wp::vec_t<2, wp::uint64> const& bases = {},
    wp::vec_t<9, wp::uint64> const& reads = {},
    wp::vec_t<9, wp::uint64> const& writes = {},
    wp::uint32 const& window = {},
    wp::uint32 const& sp = {},
    wp::uint32 const& address = {},
    wp::uint32 const& value = {},
    wp::uint32 const& memory = {},
    wp::uint32 const& asked = {},
    wp::uint64 const& seen_first = {},
    wp::uint64 const& seen_second = {},
    wp::uint32 const& seen_pc = {},
    wp::uint32 const& seen_time = {},
    wp::uint32 const& stable = {},
    wp::uint32 const& vram_until = {},
    wp::uint32 const& idle_skip = {},
    wp::uint32 const& fast = {},
    wp::uint32 const& rom_low = {},
    wp::uint32 const& rom_high = {},
    wp::uint32 const& ram_offset = {},
    wp::uint64 const& console = {},
    wp::uint64 const& mem = {},
    wp::uint64 const& rom = {},
    wp::uint64 const& words = {},
    wp::uint64 const& control = {},
    wp::uint64 const& scratch = {},
    wp::uint64 const& table = {},
    wp::uint64 const& hot_words = {},
    wp::uint64 const& walked = {},
    wp::uint32 const& stack = {},
    wp::uint32 const& stacks = {})
        : limit{limit}
        , due{due}
        , stable_t{stable_t}
        , deadline_t{deadline_t}
        , base{base}
        , soon{soon}
        , close_t{close_t}
        , bases{bases}
        , reads{reads}
        , writes{writes}
        , window{window}
        , sp{sp}
        , address{address}
        , value{value}
        , memory{memory}
        , asked{asked}
        , seen_first{seen_first}
        , seen_second{seen_second}
        , seen_pc{seen_pc}
        , seen_time{seen_time}
        , stable{stable}
        , vram_until{vram_until}
        , idle_skip{idle_skip}
        , fast{fast}
        , rom_low{rom_low}
        , rom_high{rom_high}
        , ram_offset{ram_offset}
        , console{console}
        , mem{mem}
        , rom{rom}
        , words{words}
        , control{control}
        , scratch{scratch}
        , table{table}
        , hot_words{hot_words}
        , walked{walked}
        , stack{stack}
        , stacks{stacks}

    {
    }

    CUDA_CALLABLE NativeState_333cb507& operator += (const NativeState_333cb507& rhs)
    {    limit += rhs.limit;
    due += rhs.due;
    stable_t += rhs.stable_t;
    deadline_t += rhs.deadline_t;
    base += rhs.base;
    soon += rhs.soon;
    close_t += rhs.close_t;
    bases += rhs.bases;
    reads += rhs.reads;
    writes += rhs.writes;
    window += rhs.window;
    sp += rhs.sp;
    address += rhs.address;
    value += rhs.value;
    memory += rhs.memory;
    asked += rhs.asked;
    seen_first += rhs.seen_first;
    seen_second += rhs.seen_second;
    seen_pc += rhs.seen_pc;
    seen_time += rhs.seen_time;
    stable += rhs.stable;
    vram_until += rhs.vram_until;
    idle_skip += rhs.idle_skip;
    fast += rhs.fast;
    rom_low += rhs.rom_low;
    rom_high += rhs.rom_high;
    ram_offset += rhs.ram_offset;
    console += rhs.console;
    mem += rhs.mem;
    rom += rhs.rom;
    words += rhs.words;
    control += rhs.control;
    scratch += rhs.scratch;
    table += rhs.table;
    hot_words += rhs.hot_words;
    walked += rhs.walked;
    stack += rhs.stack;
    stacks += rhs.stacks;

        return *this;}

};

static CUDA_CALLABLE void adj_NativeState_333cb507(wp::int64 const&,
    wp::int64 const&,
    wp::int64 const&,
    wp::int64 const&,
    wp::uint64 const&,
    wp::int64 const&,
    wp::int64 const&,
    wp::vec_t<2, wp::uint64> const&,
    wp::vec_t<9, wp::uint64> const&,
    wp::vec_t<9, wp::uint64> const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint64 const&,
    wp::uint64 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint64 const&,
    wp::uint64 const&,
    wp::uint64 const&,
    wp::uint64 const&,
    wp::uint64 const&,
    wp::uint64 const&,
    wp::uint64 const&,
    wp::uint64 const&,
    wp::uint64 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::int64 & adj_limit,
    wp::int64 & adj_due,
    wp::int64 & adj_stable_t,
    wp::int64 & adj_deadline_t,
    wp::uint64 & adj_base,
    wp::int64 & adj_soon,
    wp::int64 & adj_close_t,
    wp::vec_t<2, wp::uint64> & adj_bases,
    wp::vec_t<9, wp::uint64> & adj_reads,
    wp::vec_t<9, wp::uint64> & adj_writes,
    wp::uint32 & adj_window,
    wp::uint32 & adj_sp,
    wp::uint32 & adj_address,
    wp::uint32 & adj_value,
    wp::uint32 & adj_memory,
    wp::uint32 & adj_asked,
    wp::uint64 & adj_seen_first,
    wp::uint64 & adj_seen_second,
    wp::uint32 & adj_seen_pc,
    wp::uint32 & adj_seen_time,
    wp::uint32 & adj_stable,
    wp::uint32 & adj_vram_until,
    wp::uint32 & adj_idle_skip,
    wp::uint32 & adj_fast,
    wp::uint32 & adj_rom_low,
    wp::uint32 & adj_rom_high,
    wp::uint32 & adj_ram_offset,
    wp::uint64 & adj_console,
    wp::uint64 & adj_mem,
    wp::uint64 & adj_rom,
    wp::uint64 & adj_words,
    wp::uint64 & adj_control,
    wp::uint64 & adj_scratch,
    wp::uint64 & adj_table,
    wp::uint64 & adj_hot_words,
    wp::uint64 & adj_walked,
    wp::uint32 & adj_stack,
    wp::uint32 & adj_stacks,
    NativeState_333cb507 & adj_ret)
{
    adj_limit += adj_ret.limit;
    adj_due += adj_ret.due;
    adj_stable_t += adj_ret.stable_t;
    adj_deadline_t += adj_ret.deadline_t;
    adj_base += adj_ret.base;
    adj_soon += adj_ret.soon;
    adj_close_t += adj_ret.close_t;
    adj_bases += adj_ret.bases;
    adj_reads += adj_ret.reads;
    adj_writes += adj_ret.writes;
    adj_window += adj_ret.window;
    adj_sp += adj_ret.sp;
    adj_address += adj_ret.address;
    adj_value += adj_ret.value;
    adj_memory += adj_ret.memory;
    adj_asked += adj_ret.asked;
    adj_seen_first += adj_ret.seen_first;
    adj_seen_second += adj_ret.seen_second;
    adj_seen_pc += adj_ret.seen_pc;
    adj_seen_time += adj_ret.seen_time;
    adj_stable += adj_ret.stable;
    adj_vram_until += adj_ret.vram_until;
    adj_idle_skip += adj_ret.idle_skip;
    adj_fast += adj_ret.fast;
    adj_rom_low += adj_ret.rom_low;
    adj_rom_high += adj_ret.rom_high;
    adj_ram_offset += adj_ret.ram_offset;
    adj_console += adj_ret.console;
    adj_mem += adj_ret.mem;
    adj_rom += adj_ret.rom;
    adj_words += adj_ret.words;
    adj_control += adj_ret.control;
    adj_scratch += adj_ret.scratch;
    adj_table += adj_ret.table;
    adj_hot_words += adj_ret.hot_words;
    adj_walked += adj_ret.walked;
    adj_stack += adj_ret.stack;
    adj_stacks += adj_ret.stacks;
}

// Required when compiling adjoints.
CUDA_CALLABLE NativeState_333cb507 add(const NativeState_333cb507& a, const NativeState_333cb507& b)
{
    return NativeState_333cb507();
}

CUDA_CALLABLE void adj_atomic_add(NativeState_333cb507* p, NativeState_333cb507 t)
{
    wp::adj_atomic_add(&p->limit, t.limit);
    wp::adj_atomic_add(&p->due, t.due);
    wp::adj_atomic_add(&p->stable_t, t.stable_t);
    wp::adj_atomic_add(&p->deadline_t, t.deadline_t);
    wp::adj_atomic_add(&p->base, t.base);
    wp::adj_atomic_add(&p->soon, t.soon);
    wp::adj_atomic_add(&p->close_t, t.close_t);
    wp::adj_atomic_add(&p->bases, t.bases);
    wp::adj_atomic_add(&p->reads, t.reads);
    wp::adj_atomic_add(&p->writes, t.writes);
    wp::adj_atomic_add(&p->window, t.window);
    wp::adj_atomic_add(&p->sp, t.sp);
    wp::adj_atomic_add(&p->address, t.address);
    wp::adj_atomic_add(&p->value, t.value);
    wp::adj_atomic_add(&p->memory, t.memory);
    wp::adj_atomic_add(&p->asked, t.asked);
    wp::adj_atomic_add(&p->seen_first, t.seen_first);
    wp::adj_atomic_add(&p->seen_second, t.seen_second);
    wp::adj_atomic_add(&p->seen_pc, t.seen_pc);
    wp::adj_atomic_add(&p->seen_time, t.seen_time);
    wp::adj_atomic_add(&p->stable, t.stable);
    wp::adj_atomic_add(&p->vram_until, t.vram_until);
    wp::adj_atomic_add(&p->idle_skip, t.idle_skip);
    wp::adj_atomic_add(&p->fast, t.fast);
    wp::adj_atomic_add(&p->rom_low, t.rom_low);
    wp::adj_atomic_add(&p->rom_high, t.rom_high);
    wp::adj_atomic_add(&p->ram_offset, t.ram_offset);
    wp::adj_atomic_add(&p->console, t.console);
    wp::adj_atomic_add(&p->mem, t.mem);
    wp::adj_atomic_add(&p->rom, t.rom);
    wp::adj_atomic_add(&p->words, t.words);
    wp::adj_atomic_add(&p->control, t.control);
    wp::adj_atomic_add(&p->scratch, t.scratch);
    wp::adj_atomic_add(&p->table, t.table);
    wp::adj_atomic_add(&p->hot_words, t.hot_words);
    wp::adj_atomic_add(&p->walked, t.walked);
    wp::adj_atomic_add(&p->stack, t.stack);
    wp::adj_atomic_add(&p->stacks, t.stacks);
}




struct Console_ede698e1
{
    wp::uint32 lo;
    wp::uint32 hi;
    wp::uint32 sp;
    wp::uint32 pc;
    wp::uint32 now;
    wp::uint32 deadline;
    wp::uint32 ime;
    wp::uint32 ei_time;
    wp::uint32 run_state;
    wp::uint32 stop_time;
    wp::uint32 halt_bug;
    wp::uint32 fast;
    wp::uint32 rom_low;
    wp::uint32 rom_high;
    wp::uint32 ram_offset;
    wp::uint32 mapper;
    wp::uint32 rom_base;
    wp::uint32 rom_banks;
    wp::uint32 ram_size;
    wp::uint32 has_rtc;
    wp::uint32 rom_bank;
    wp::uint32 ram_bank;
    wp::uint32 bank_mode;
    wp::uint32 ram_enabled;
    wp::uint32 open_bus;
    wp::uint32 rtc_zero;
    wp::uint32 rtc_seconds;
    wp::uint32 rtc_minutes;
    wp::uint32 rtc_hours;
    wp::uint32 rtc_days;
    wp::uint32 rtc_latch;
    wp::uint32 rtc_latched_low;
    wp::uint32 rtc_latched_days;
    wp::uint32 div_zero;
    wp::uint32 tima_mark;
    wp::uint32 tima_state;
    wp::uint32 timer_next;
    wp::uint32 serial_active;
    wp::uint32 serial_start;
    wp::uint32 serial_edges;
    wp::uint32 serial_end;
    wp::uint32 serial_count;
    wp::uint32 serial_capacity;
    wp::uint32 serial_log;
    wp::uint32 dma_state;
    wp::uint32 dma_start;
    wp::uint32 dma_source;
    wp::uint32 dma_done;
    wp::uint32 dma_blocked;
    wp::uint32 buttons;
    wp::uint32 joypad_target;
    wp::uint32 joypad_settles;
    wp::uint32 release_at;
    wp::uint32 apu_mark;
    wp::uint32 apu_step;
    wp::uint32 apu_skip;
    wp::uint32 apu_status;
    wp::uint32 apu_length_12;
    wp::uint32 apu_length_34;
    wp::uint32 apu_sweep_timer;
    wp::uint32 apu_sweep_shadow;
    wp::uint32 apu_sweep_flags;
    wp::uint32 apu_wave_index;
    wp::uint32 apu_wave_next;
    wp::uint32 launch_end;
    wp::uint32 stopped;
    wp::uint32 trap;
    wp::uint32 work;
    wp::uint32 stable;
    wp::uint32 env;
    wp::uint32 ppu_next;
    wp::uint32 ppu_vram_fast;
    wp::uint32 ppu_origin;
    wp::uint32 ppu_first;
    wp::uint32 ppu_sync;
    wp::uint32 ppu_stat_line;
    wp::uint32 ppu_lyc_line;
    wp::uint32 ppu_late;
    wp::uint32 ppu_window;
    wp::uint32 ppu_window_sync;
    wp::uint32 ppu_carry;
    wp::uint32 ppu_dma;
    wp::uint32 ppu_dma_start;
    wp::uint32 ppu_end_line;
    wp::uint32 ppu_end;
    wp::uint32 ppu_log_line;
    wp::uint32 ppu_log_start;
    wp::uint32 ppu_log_count;
    wp::uint32 ppu_draft_log;
    wp::uint32 ppu_undo_count;
    wp::uint32 ppu_undo_done;
    wp::uint32 ppu_draft_undo;
    wp::uint32 ppu_finished;
    wp::uint32 ppu_drafting;
    wp::uint32 ppu_front;
    wp::uint32 ppu_blank;
    wp::uint32 ppu_frames;


    Console_ede698e1() = default;
    CUDA_CALLABLE Console_ede698e1(wp::uint32 const& lo,
    wp::uint32 const& hi = {},
    wp::uint32 const& sp = {},
    wp::uint32 const& pc = {},
    wp::uint32 const& now = {},
    wp::uint32 const& deadline = {},
    wp::uint32 const& ime = {},
    wp::uint32 const& ei_time = {},
    wp::uint32 const& run_state = {},
    wp::uint32 const& stop_time = {},
    wp::uint32 const& halt_bug = {},
    wp::uint32 const& fast = {},
    wp::uint32 const& rom_low = {},
    wp::uint32 const& rom_high = {},
    wp::uint32 const& ram_offset = {},
    wp::uint32 const& mapper = {},
    wp::uint32 const& rom_base = {},
    wp::uint32 const& rom_banks = {},
    wp::uint32 const& ram_size = {},
    wp::uint32 const& has_rtc = {},
    wp::uint32 const& rom_bank = {},
    wp::uint32 const& ram_bank = {},
    wp::uint32 const& bank_mode = {},
    wp::uint32 const& ram_enabled = {},
    wp::uint32 const& open_bus = {},
    wp::uint32 const& rtc_zero = {},
    wp::uint32 const& rtc_seconds = {},
    wp::uint32 const& rtc_minutes = {},
    wp::uint32 const& rtc_hours = {},
    wp::uint32 const& rtc_days = {},
    wp::uint32 const& rtc_latch = {},
    wp::uint32 const& rtc_latched_low = {},
    wp::uint32 const& rtc_latched_days = {},
    wp::uint32 const& div_zero = {},
    wp::uint32 const& tima_mark = {},
    wp::uint32 const& tima_state = {},
    wp::uint32 const& timer_next = {},
    wp::uint32 const& serial_active = {},
    wp::uint32 const& serial_start = {},
    wp::uint32 const& serial_edges = {},
    wp::uint32 const& serial_end = {},
    wp::uint32 const& serial_count = {},
    wp::uint32 const& serial_capacity = {},
    wp::uint32 const& serial_log = {},
    wp::uint32 const& dma_state = {},
    wp::uint32 const& dma_start = {},
    wp::uint32 const& dma_source = {},
    wp::uint32 const& dma_done = {},
    wp::uint32 const& dma_blocked = {},
    wp::uint32 const& buttons = {},
    wp::uint32 const& joypad_target = {},
    wp::uint32 const& joypad_settles = {},
    wp::uint32 const& release_at = {},
    wp::uint32 const& apu_mark = {},
    wp::uint32 const& apu_step = {},
    wp::uint32 const& apu_skip = {},
    wp::uint32 const& apu_status = {},
    wp::uint32 const& apu_length_12 = {},
    wp::uint32 const& apu_length_34 = {},
    wp::uint32 const& apu_sweep_timer = {},
    wp::uint32 const& apu_sweep_shadow = {},
    wp::uint32 const& apu_sweep_flags = {},
    wp::uint32 const& apu_wave_index = {},
    wp::uint32 const& apu_wave_next = {},
    wp::uint32 const& launch_end = {},
    wp::uint32 const& stopped = {},
    wp::uint32 const& trap = {},
    wp::uint32 const& work = {},
    wp::uint32 const& stable = {},
    wp::uint32 const& env = {},
    wp::uint32 const& ppu_next = {},
    wp::uint32 const& ppu_vram_fast = {},
    wp::uint32 const& ppu_origin = {},
    wp::uint32 const& ppu_first = {},
    wp::uint32 const& ppu_sync = {},
    wp::uint32 const& ppu_stat_line = {},
    wp::uint32 const& ppu_lyc_line = {},
    wp::uint32 const& ppu_late = {},
    wp::uint32 const& ppu_window = {},
    wp::uint32 const& ppu_window_sync = {},
    wp::uint32 const& ppu_carry = {},
    wp::uint32 const& ppu_dma = {},
    wp::uint32 const& ppu_dma_start = {},
    wp::uint32 const& ppu_end_line = {},
    wp::uint32 const& ppu_end = {},
    wp::uint32 const& ppu_log_line = {},
    wp::uint32 const& ppu_log_start = {},
    wp::uint32 const& ppu_log_count = {},
    wp::uint32 const& ppu_draft_log = {},
    wp::uint32 const& ppu_undo_count = {},
    wp::uint32 const& ppu_undo_done = {},
    wp::uint32 const& ppu_draft_undo = {},
    wp::uint32 const& ppu_finished = {},
    wp::uint32 const& ppu_drafting = {},
    wp::uint32 const& ppu_front = {},
    wp::uint32 const& ppu_blank = {},
    wp::uint32 const& ppu_frames = {})
        : lo{lo}
        , hi{hi}
        , sp{sp}
        , pc{pc}
        , now{now}
        , deadline{deadline}
        , ime{ime}
        , ei_time{ei_time}
        , run_state{run_state}
        , stop_time{stop_time}
        , halt_bug{halt_bug}
        , fast{fast}
        , rom_low{rom_low}
        , rom_high{rom_high}
        , ram_offset{ram_offset}
        , mapper{mapper}
        , rom_base{rom_base}
        , rom_banks{rom_banks}
        , ram_size{ram_size}
        , has_rtc{has_rtc}
        , rom_bank{rom_bank}
        , ram_bank{ram_bank}
        , bank_mode{bank_mode}
        , ram_enabled{ram_enabled}
        , open_bus{open_bus}
        , rtc_zero{rtc_zero}
        , rtc_seconds{rtc_seconds}
        , rtc_minutes{rtc_minutes}
        , rtc_hours{rtc_hours}
        , rtc_days{rtc_days}
        , rtc_latch{rtc_latch}
        , rtc_latched_low{rtc_latched_low}
        , rtc_latched_days{rtc_latched_days}
        , div_zero{div_zero}
        , tima_mark{tima_mark}
        , tima_state{tima_state}
        , timer_next{timer_next}
        , serial_active{serial_active}
        , serial_start{serial_start}
        , serial_edges{serial_edges}
        , serial_end{serial_end}
        , serial_count{serial_count}
        , serial_capacity{serial_capacity}
        , serial_log{serial_log}
        , dma_state{dma_state}
        , dma_start{dma_start}
        , dma_source{dma_source}
        , dma_done{dma_done}
        , dma_blocked{dma_blocked}
        , buttons{buttons}
        , joypad_target{joypad_target}
        , joypad_settles{joypad_settles}
        , release_at{release_at}
        , apu_mark{apu_mark}
        , apu_step{apu_step}
        , apu_skip{apu_skip}
        , apu_status{apu_status}
        , apu_length_12{apu_length_12}
        , apu_length_34{apu_length_34}
        , apu_sweep_timer{apu_sweep_timer}
        , apu_sweep_shadow{apu_sweep_shadow}
        , apu_sweep_flags{apu_sweep_flags}
        , apu_wave_index{apu_wave_index}
        , apu_wave_next{apu_wave_next}
        , launch_end{launch_end}
        , stopped{stopped}
        , trap{trap}
        , work{work}
        , stable{stable}
        , env{env}
        , ppu_next{ppu_next}
        , ppu_vram_fast{ppu_vram_fast}
        , ppu_origin{ppu_origin}
        , ppu_first{ppu_first}
        , ppu_sync{ppu_sync}
        , ppu_stat_line{ppu_stat_line}
        , ppu_lyc_line{ppu_lyc_line}
        , ppu_late{ppu_late}
        , ppu_window{ppu_window}
        , ppu_window_sync{ppu_window_sync}
        , ppu_carry{ppu_carry}
        , ppu_dma{ppu_dma}
        , ppu_dma_start{ppu_dma_start}
        , ppu_end_line{ppu_end_line}
        , ppu_end{ppu_end}
        , ppu_log_line{ppu_log_line}
        , ppu_log_start{ppu_log_start}
        , ppu_log_count{ppu_log_count}
        , ppu_draft_log{ppu_draft_log}
        , ppu_undo_count{ppu_undo_count}
        , ppu_undo_done{ppu_undo_done}
        , ppu_draft_undo{ppu_draft_undo}
        , ppu_finished{ppu_finished}
        , ppu_drafting{ppu_drafting}
        , ppu_front{ppu_front}
        , ppu_blank{ppu_blank}
        , ppu_frames{ppu_frames}

    {
    }

    CUDA_CALLABLE Console_ede698e1& operator += (const Console_ede698e1& rhs)
    {    lo += rhs.lo;
    hi += rhs.hi;
    sp += rhs.sp;
    pc += rhs.pc;
    now += rhs.now;
    deadline += rhs.deadline;
    ime += rhs.ime;
    ei_time += rhs.ei_time;
    run_state += rhs.run_state;
    stop_time += rhs.stop_time;
    halt_bug += rhs.halt_bug;
    fast += rhs.fast;
    rom_low += rhs.rom_low;
    rom_high += rhs.rom_high;
    ram_offset += rhs.ram_offset;
    mapper += rhs.mapper;
    rom_base += rhs.rom_base;
    rom_banks += rhs.rom_banks;
    ram_size += rhs.ram_size;
    has_rtc += rhs.has_rtc;
    rom_bank += rhs.rom_bank;
    ram_bank += rhs.ram_bank;
    bank_mode += rhs.bank_mode;
    ram_enabled += rhs.ram_enabled;
    open_bus += rhs.open_bus;
    rtc_zero += rhs.rtc_zero;
    rtc_seconds += rhs.rtc_seconds;
    rtc_minutes += rhs.rtc_minutes;
    rtc_hours += rhs.rtc_hours;
    rtc_days += rhs.rtc_days;
    rtc_latch += rhs.rtc_latch;
    rtc_latched_low += rhs.rtc_latched_low;
    rtc_latched_days += rhs.rtc_latched_days;
    div_zero += rhs.div_zero;
    tima_mark += rhs.tima_mark;
    tima_state += rhs.tima_state;
    timer_next += rhs.timer_next;
    serial_active += rhs.serial_active;
    serial_start += rhs.serial_start;
    serial_edges += rhs.serial_edges;
    serial_end += rhs.serial_end;
    serial_count += rhs.serial_count;
    serial_capacity += rhs.serial_capacity;
    serial_log += rhs.serial_log;
    dma_state += rhs.dma_state;
    dma_start += rhs.dma_start;
    dma_source += rhs.dma_source;
    dma_done += rhs.dma_done;
    dma_blocked += rhs.dma_blocked;
    buttons += rhs.buttons;
    joypad_target += rhs.joypad_target;
    joypad_settles += rhs.joypad_settles;
    release_at += rhs.release_at;
    apu_mark += rhs.apu_mark;
    apu_step += rhs.apu_step;
    apu_skip += rhs.apu_skip;
    apu_status += rhs.apu_status;
    apu_length_12 += rhs.apu_length_12;
    apu_length_34 += rhs.apu_length_34;
    apu_sweep_timer += rhs.apu_sweep_timer;
    apu_sweep_shadow += rhs.apu_sweep_shadow;
    apu_sweep_flags += rhs.apu_sweep_flags;
    apu_wave_index += rhs.apu_wave_index;
    apu_wave_next += rhs.apu_wave_next;
    launch_end += rhs.launch_end;
    stopped += rhs.stopped;
    trap += rhs.trap;
    work += rhs.work;
    stable += rhs.stable;
    env += rhs.env;
    ppu_next += rhs.ppu_next;
    ppu_vram_fast += rhs.ppu_vram_fast;
    ppu_origin += rhs.ppu_origin;
    ppu_first += rhs.ppu_first;
    ppu_sync += rhs.ppu_sync;
    ppu_stat_line += rhs.ppu_stat_line;
    ppu_lyc_line += rhs.ppu_lyc_line;
    ppu_late += rhs.ppu_late;
    ppu_window += rhs.ppu_window;
    ppu_window_sync += rhs.ppu_window_sync;
    ppu_carry += rhs.ppu_carry;
    ppu_dma += rhs.ppu_dma;
    ppu_dma_start += rhs.ppu_dma_start;
    ppu_end_line += rhs.ppu_end_line;
    ppu_end += rhs.ppu_end;
    ppu_log_line += rhs.ppu_log_line;
    ppu_log_start += rhs.ppu_log_start;
    ppu_log_count += rhs.ppu_log_count;
    ppu_draft_log += rhs.ppu_draft_log;
    ppu_undo_count += rhs.ppu_undo_count;
    ppu_undo_done += rhs.ppu_undo_done;
    ppu_draft_undo += rhs.ppu_draft_undo;
    ppu_finished += rhs.ppu_finished;
    ppu_drafting += rhs.ppu_drafting;
    ppu_front += rhs.ppu_front;
    ppu_blank += rhs.ppu_blank;
    ppu_frames += rhs.ppu_frames;

        return *this;}

};

static CUDA_CALLABLE void adj_Console_ede698e1(wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 const&,
    wp::uint32 & adj_lo,
    wp::uint32 & adj_hi,
    wp::uint32 & adj_sp,
    wp::uint32 & adj_pc,
    wp::uint32 & adj_now,
    wp::uint32 & adj_deadline,
    wp::uint32 & adj_ime,
    wp::uint32 & adj_ei_time,
    wp::uint32 & adj_run_state,
    wp::uint32 & adj_stop_time,
    wp::uint32 & adj_halt_bug,
    wp::uint32 & adj_fast,
    wp::uint32 & adj_rom_low,
    wp::uint32 & adj_rom_high,
    wp::uint32 & adj_ram_offset,
    wp::uint32 & adj_mapper,
    wp::uint32 & adj_rom_base,
    wp::uint32 & adj_rom_banks,
    wp::uint32 & adj_ram_size,
    wp::uint32 & adj_has_rtc,
    wp::uint32 & adj_rom_bank,
    wp::uint32 & adj_ram_bank,
    wp::uint32 & adj_bank_mode,
    wp::uint32 & adj_ram_enabled,
    wp::uint32 & adj_open_bus,
    wp::uint32 & adj_rtc_zero,
    wp::uint32 & adj_rtc_seconds,
    wp::uint32 & adj_rtc_minutes,
    wp::uint32 & adj_rtc_hours,
    wp::uint32 & adj_rtc_days,
    wp::uint32 & adj_rtc_latch,
    wp::uint32 & adj_rtc_latched_low,
    wp::uint32 & adj_rtc_latched_days,
    wp::uint32 & adj_div_zero,
    wp::uint32 & adj_tima_mark,
    wp::uint32 & adj_tima_state,
    wp::uint32 & adj_timer_next,
    wp::uint32 & adj_serial_active,
    wp::uint32 & adj_serial_start,
    wp::uint32 & adj_serial_edges,
    wp::uint32 & adj_serial_end,
    wp::uint32 & adj_serial_count,
    wp::uint32 & adj_serial_capacity,
    wp::uint32 & adj_serial_log,
    wp::uint32 & adj_dma_state,
    wp::uint32 & adj_dma_start,
    wp::uint32 & adj_dma_source,
    wp::uint32 & adj_dma_done,
    wp::uint32 & adj_dma_blocked,
    wp::uint32 & adj_buttons,
    wp::uint32 & adj_joypad_target,
    wp::uint32 & adj_joypad_settles,
    wp::uint32 & adj_release_at,
    wp::uint32 & adj_apu_mark,
    wp::uint32 & adj_apu_step,
    wp::uint32 & adj_apu_skip,
    wp::uint32 & adj_apu_status,
    wp::uint32 & adj_apu_length_12,
    wp::uint32 & adj_apu_length_34,
    wp::uint32 & adj_apu_sweep_timer,
    wp::uint32 & adj_apu_sweep_shadow,
    wp::uint32 & adj_apu_sweep_flags,
    wp::uint32 & adj_apu_wave_index,
    wp::uint32 & adj_apu_wave_next,
    wp::uint32 & adj_launch_end,
    wp::uint32 & adj_stopped,
    wp::uint32 & adj_trap,
    wp::uint32 & adj_work,
    wp::uint32 & adj_stable,
    wp::uint32 & adj_env,
    wp::uint32 & adj_ppu_next,
    wp::uint32 & adj_ppu_vram_fast,
    wp::uint32 & adj_ppu_origin,
    wp::uint32 & adj_ppu_first,
    wp::uint32 & adj_ppu_sync,
    wp::uint32 & adj_ppu_stat_line,
    wp::uint32 & adj_ppu_lyc_line,
    wp::uint32 & adj_ppu_late,
    wp::uint32 & adj_ppu_window,
    wp::uint32 & adj_ppu_window_sync,
    wp::uint32 & adj_ppu_carry,
    wp::uint32 & adj_ppu_dma,
    wp::uint32 & adj_ppu_dma_start,
    wp::uint32 & adj_ppu_end_line,
    wp::uint32 & adj_ppu_end,
    wp::uint32 & adj_ppu_log_line,
    wp::uint32 & adj_ppu_log_start,
    wp::uint32 & adj_ppu_log_count,
    wp::uint32 & adj_ppu_draft_log,
    wp::uint32 & adj_ppu_undo_count,
    wp::uint32 & adj_ppu_undo_done,
    wp::uint32 & adj_ppu_draft_undo,
    wp::uint32 & adj_ppu_finished,
    wp::uint32 & adj_ppu_drafting,
    wp::uint32 & adj_ppu_front,
    wp::uint32 & adj_ppu_blank,
    wp::uint32 & adj_ppu_frames,
    Console_ede698e1 & adj_ret)
{
    adj_lo += adj_ret.lo;
    adj_hi += adj_ret.hi;
    adj_sp += adj_ret.sp;
    adj_pc += adj_ret.pc;
    adj_now += adj_ret.now;
    adj_deadline += adj_ret.deadline;
    adj_ime += adj_ret.ime;
    adj_ei_time += adj_ret.ei_time;
    adj_run_state += adj_ret.run_state;
    adj_stop_time += adj_ret.stop_time;
    adj_halt_bug += adj_ret.halt_bug;
    adj_fast += adj_ret.fast;
    adj_rom_low += adj_ret.rom_low;
    adj_rom_high += adj_ret.rom_high;
    adj_ram_offset += adj_ret.ram_offset;
    adj_mapper += adj_ret.mapper;
    adj_rom_base += adj_ret.rom_base;
    adj_rom_banks += adj_ret.rom_banks;
    adj_ram_size += adj_ret.ram_size;
    adj_has_rtc += adj_ret.has_rtc;
    adj_rom_bank += adj_ret.rom_bank;
    adj_ram_bank += adj_ret.ram_bank;
    adj_bank_mode += adj_ret.bank_mode;
    adj_ram_enabled += adj_ret.ram_enabled;
    adj_open_bus += adj_ret.open_bus;
    adj_rtc_zero += adj_ret.rtc_zero;
    adj_rtc_seconds += adj_ret.rtc_seconds;
    adj_rtc_minutes += adj_ret.rtc_minutes;
    adj_rtc_hours += adj_ret.rtc_hours;
    adj_rtc_days += adj_ret.rtc_days;
    adj_rtc_latch += adj_ret.rtc_latch;
    adj_rtc_latched_low += adj_ret.rtc_latched_low;
    adj_rtc_latched_days += adj_ret.rtc_latched_days;
    adj_div_zero += adj_ret.div_zero;
    adj_tima_mark += adj_ret.tima_mark;
    adj_tima_state += adj_ret.tima_state;
    adj_timer_next += adj_ret.timer_next;
    adj_serial_active += adj_ret.serial_active;
    adj_serial_start += adj_ret.serial_start;
    adj_serial_edges += adj_ret.serial_edges;
    adj_serial_end += adj_ret.serial_end;
    adj_serial_count += adj_ret.serial_count;
    adj_serial_capacity += adj_ret.serial_capacity;
    adj_serial_log += adj_ret.serial_log;
    adj_dma_state += adj_ret.dma_state;
    adj_dma_start += adj_ret.dma_start;
    adj_dma_source += adj_ret.dma_source;
    adj_dma_done += adj_ret.dma_done;
    adj_dma_blocked += adj_ret.dma_blocked;
    adj_buttons += adj_ret.buttons;
    adj_joypad_target += adj_ret.joypad_target;
    adj_joypad_settles += adj_ret.joypad_settles;
    adj_release_at += adj_ret.release_at;
    adj_apu_mark += adj_ret.apu_mark;
    adj_apu_step += adj_ret.apu_step;
    adj_apu_skip += adj_ret.apu_skip;
    adj_apu_status += adj_ret.apu_status;
    adj_apu_length_12 += adj_ret.apu_length_12;
    adj_apu_length_34 += adj_ret.apu_length_34;
    adj_apu_sweep_timer += adj_ret.apu_sweep_timer;
    adj_apu_sweep_shadow += adj_ret.apu_sweep_shadow;
    adj_apu_sweep_flags += adj_ret.apu_sweep_flags;
    adj_apu_wave_index += adj_ret.apu_wave_index;
    adj_apu_wave_next += adj_ret.apu_wave_next;
    adj_launch_end += adj_ret.launch_end;
    adj_stopped += adj_ret.stopped;
    adj_trap += adj_ret.trap;
    adj_work += adj_ret.work;
    adj_stable += adj_ret.stable;
    adj_env += adj_ret.env;
    adj_ppu_next += adj_ret.ppu_next;
    adj_ppu_vram_fast += adj_ret.ppu_vram_fast;
    adj_ppu_origin += adj_ret.ppu_origin;
    adj_ppu_first += adj_ret.ppu_first;
    adj_ppu_sync += adj_ret.ppu_sync;
    adj_ppu_stat_line += adj_ret.ppu_stat_line;
    adj_ppu_lyc_line += adj_ret.ppu_lyc_line;
    adj_ppu_late += adj_ret.ppu_late;
    adj_ppu_window += adj_ret.ppu_window;
    adj_ppu_window_sync += adj_ret.ppu_window_sync;
    adj_ppu_carry += adj_ret.ppu_carry;
    adj_ppu_dma += adj_ret.ppu_dma;
    adj_ppu_dma_start += adj_ret.ppu_dma_start;
    adj_ppu_end_line += adj_ret.ppu_end_line;
    adj_ppu_end += adj_ret.ppu_end;
    adj_ppu_log_line += adj_ret.ppu_log_line;
    adj_ppu_log_start += adj_ret.ppu_log_start;
    adj_ppu_log_count += adj_ret.ppu_log_count;
    adj_ppu_draft_log += adj_ret.ppu_draft_log;
    adj_ppu_undo_count += adj_ret.ppu_undo_count;
    adj_ppu_undo_done += adj_ret.ppu_undo_done;
    adj_ppu_draft_undo += adj_ret.ppu_draft_undo;
    adj_ppu_finished += adj_ret.ppu_finished;
    adj_ppu_drafting += adj_ret.ppu_drafting;
    adj_ppu_front += adj_ret.ppu_front;
    adj_ppu_blank += adj_ret.ppu_blank;
    adj_ppu_frames += adj_ret.ppu_frames;
}

// Required when compiling adjoints.
CUDA_CALLABLE Console_ede698e1 add(const Console_ede698e1& a, const Console_ede698e1& b)
{
    return Console_ede698e1();
}

CUDA_CALLABLE void adj_atomic_add(Console_ede698e1* p, Console_ede698e1 t)
{
    wp::adj_atomic_add(&p->lo, t.lo);
    wp::adj_atomic_add(&p->hi, t.hi);
    wp::adj_atomic_add(&p->sp, t.sp);
    wp::adj_atomic_add(&p->pc, t.pc);
    wp::adj_atomic_add(&p->now, t.now);
    wp::adj_atomic_add(&p->deadline, t.deadline);
    wp::adj_atomic_add(&p->ime, t.ime);
    wp::adj_atomic_add(&p->ei_time, t.ei_time);
    wp::adj_atomic_add(&p->run_state, t.run_state);
    wp::adj_atomic_add(&p->stop_time, t.stop_time);
    wp::adj_atomic_add(&p->halt_bug, t.halt_bug);
    wp::adj_atomic_add(&p->fast, t.fast);
    wp::adj_atomic_add(&p->rom_low, t.rom_low);
    wp::adj_atomic_add(&p->rom_high, t.rom_high);
    wp::adj_atomic_add(&p->ram_offset, t.ram_offset);
    wp::adj_atomic_add(&p->mapper, t.mapper);
    wp::adj_atomic_add(&p->rom_base, t.rom_base);
    wp::adj_atomic_add(&p->rom_banks, t.rom_banks);
    wp::adj_atomic_add(&p->ram_size, t.ram_size);
    wp::adj_atomic_add(&p->has_rtc, t.has_rtc);
    wp::adj_atomic_add(&p->rom_bank, t.rom_bank);
    wp::adj_atomic_add(&p->ram_bank, t.ram_bank);
    wp::adj_atomic_add(&p->bank_mode, t.bank_mode);
    wp::adj_atomic_add(&p->ram_enabled, t.ram_enabled);
    wp::adj_atomic_add(&p->open_bus, t.open_bus);
    wp::adj_atomic_add(&p->rtc_zero, t.rtc_zero);
    wp::adj_atomic_add(&p->rtc_seconds, t.rtc_seconds);
    wp::adj_atomic_add(&p->rtc_minutes, t.rtc_minutes);
    wp::adj_atomic_add(&p->rtc_hours, t.rtc_hours);
    wp::adj_atomic_add(&p->rtc_days, t.rtc_days);
    wp::adj_atomic_add(&p->rtc_latch, t.rtc_latch);
    wp::adj_atomic_add(&p->rtc_latched_low, t.rtc_latched_low);
    wp::adj_atomic_add(&p->rtc_latched_days, t.rtc_latched_days);
    wp::adj_atomic_add(&p->div_zero, t.div_zero);
    wp::adj_atomic_add(&p->tima_mark, t.tima_mark);
    wp::adj_atomic_add(&p->tima_state, t.tima_state);
    wp::adj_atomic_add(&p->timer_next, t.timer_next);
    wp::adj_atomic_add(&p->serial_active, t.serial_active);
    wp::adj_atomic_add(&p->serial_start, t.serial_start);
    wp::adj_atomic_add(&p->serial_edges, t.serial_edges);
    wp::adj_atomic_add(&p->serial_end, t.serial_end);
    wp::adj_atomic_add(&p->serial_count, t.serial_count);
    wp::adj_atomic_add(&p->serial_capacity, t.serial_capacity);
    wp::adj_atomic_add(&p->serial_log, t.serial_log);
    wp::adj_atomic_add(&p->dma_state, t.dma_state);
    wp::adj_atomic_add(&p->dma_start, t.dma_start);
    wp::adj_atomic_add(&p->dma_source, t.dma_source);
    wp::adj_atomic_add(&p->dma_done, t.dma_done);
    wp::adj_atomic_add(&p->dma_blocked, t.dma_blocked);
    wp::adj_atomic_add(&p->buttons, t.buttons);
    wp::adj_atomic_add(&p->joypad_target, t.joypad_target);
    wp::adj_atomic_add(&p->joypad_settles, t.joypad_settles);
    wp::adj_atomic_add(&p->release_at, t.release_at);
    wp::adj_atomic_add(&p->apu_mark, t.apu_mark);
    wp::adj_atomic_add(&p->apu_step, t.apu_step);
    wp::adj_atomic_add(&p->apu_skip, t.apu_skip);
    wp::adj_atomic_add(&p->apu_status, t.apu_status);
    wp::adj_atomic_add(&p->apu_length_12, t.apu_length_12);
    wp::adj_atomic_add(&p->apu_length_34, t.apu_length_34);
    wp::adj_atomic_add(&p->apu_sweep_timer, t.apu_sweep_timer);
    wp::adj_atomic_add(&p->apu_sweep_shadow, t.apu_sweep_shadow);
    wp::adj_atomic_add(&p->apu_sweep_flags, t.apu_sweep_flags);
    wp::adj_atomic_add(&p->apu_wave_index, t.apu_wave_index);
    wp::adj_atomic_add(&p->apu_wave_next, t.apu_wave_next);
    wp::adj_atomic_add(&p->launch_end, t.launch_end);
    wp::adj_atomic_add(&p->stopped, t.stopped);
    wp::adj_atomic_add(&p->trap, t.trap);
    wp::adj_atomic_add(&p->work, t.work);
    wp::adj_atomic_add(&p->stable, t.stable);
    wp::adj_atomic_add(&p->env, t.env);
    wp::adj_atomic_add(&p->ppu_next, t.ppu_next);
    wp::adj_atomic_add(&p->ppu_vram_fast, t.ppu_vram_fast);
    wp::adj_atomic_add(&p->ppu_origin, t.ppu_origin);
    wp::adj_atomic_add(&p->ppu_first, t.ppu_first);
    wp::adj_atomic_add(&p->ppu_sync, t.ppu_sync);
    wp::adj_atomic_add(&p->ppu_stat_line, t.ppu_stat_line);
    wp::adj_atomic_add(&p->ppu_lyc_line, t.ppu_lyc_line);
    wp::adj_atomic_add(&p->ppu_late, t.ppu_late);
    wp::adj_atomic_add(&p->ppu_window, t.ppu_window);
    wp::adj_atomic_add(&p->ppu_window_sync, t.ppu_window_sync);
    wp::adj_atomic_add(&p->ppu_carry, t.ppu_carry);
    wp::adj_atomic_add(&p->ppu_dma, t.ppu_dma);
    wp::adj_atomic_add(&p->ppu_dma_start, t.ppu_dma_start);
    wp::adj_atomic_add(&p->ppu_end_line, t.ppu_end_line);
    wp::adj_atomic_add(&p->ppu_end, t.ppu_end);
    wp::adj_atomic_add(&p->ppu_log_line, t.ppu_log_line);
    wp::adj_atomic_add(&p->ppu_log_start, t.ppu_log_start);
    wp::adj_atomic_add(&p->ppu_log_count, t.ppu_log_count);
    wp::adj_atomic_add(&p->ppu_draft_log, t.ppu_draft_log);
    wp::adj_atomic_add(&p->ppu_undo_count, t.ppu_undo_count);
    wp::adj_atomic_add(&p->ppu_undo_done, t.ppu_undo_done);
    wp::adj_atomic_add(&p->ppu_draft_undo, t.ppu_draft_undo);
    wp::adj_atomic_add(&p->ppu_finished, t.ppu_finished);
    wp::adj_atomic_add(&p->ppu_drafting, t.ppu_drafting);
    wp::adj_atomic_add(&p->ppu_front, t.ppu_front);
    wp::adj_atomic_add(&p->ppu_blank, t.ppu_blank);
    wp::adj_atomic_add(&p->ppu_frames, t.ppu_frames);
}




// /work/cpuhot/emulator/kernels/launch/hot_native.py:60
static CUDA_CALLABLE wp::uint32 _module__locals__put_superblocks_0(
    NativeState_333cb507* _wp_ref_h,
    Console_ede698e1* _wp_ref_c,
    wp::uint64 out)
{
    NativeState_333cb507& h = *_wp_ref_h;
    Console_ede698e1& c = *_wp_ref_c;
#if defined(__CUDA_ARCH__)
return 0;
#else
#define ASK_FETCH 1
#define ASK_READ 2
#define ASK_WRITE 4
#define ASK_OAM_BUG 8
#define ASK_CONTROL 16
#define HAS_MEMORY 2
#define WORD_AT 32
#define MEMORY_AT 36
#define LONGEST 6
#define PLAIN_IO 4077
#define SETTLED 192
#define FAR 1073741823
#define PLAIN_PICTURE 2956
#define PICTURE_PLAIN 1073741824
#define STATUS_PLAIN 536870912
#define STATUS_MARGIN 21
#define MBC1 1
#define MBC3 3
#define MBC5 5
#define ALWAYS_SLOW 2147483776
#define MUST_BE_PLAIN 20971855
#define COPY_TABLE 1073741824
#define WITH_MEMORY 1024
#define CONTROL 1048576
#define WIDE 131074
#define WIDE_READ 2
#define TAKEN_ONLY 196639
#define ROW_WORDS 16
#define WAITS 1024
#define LEAVES_BANK 8192
#define COUNTS_16 4096
#define COUNTS 6144
#define EI 9
#define DI 10
#define RETI 12
#define AT_leave 1536
#define AT_look 1537
#define AT_fetch 1538
#define AT_cross 1539
#define AT_back 1540
#define AT_cold_read 1541
#define AT_cold_write 1542
#define AT_cold_pair 1543
#define AT_cold_control 1544

typedef unsigned char u8; typedef unsigned int u32;
typedef unsigned long long u64; typedef long long i64;
typedef __remove_reference_t(decltype(h)) Host; typedef __remove_reference_t(decltype(c)) Console;
typedef u32 __attribute__((aligned(1), may_alias)) loose32;
typedef unsigned short __attribute__((aligned(1), may_alias)) loose16;
#if defined(__x86_64__) && __has_attribute(preserve_none) // on AArch64 Warp keeps x28 for itself
#define LIGHT __attribute__((preserve_none))
#else
#define LIGHT
#endif
#if defined(__x86_64__) // else the loads of all ways out become one, with an address made for each
#define KEEP_HERE(v) asm("" : "+r"(v))
#else
#define KEEP_HERE(v)
#endif
#define REGISTERS Host* h, const void* const* table, i64 t, const u32* ip, u32 BC, u32 DE, \
    u32 HL, u32 A, u32 zr, u32 fl, u32 word
#define PASS h, table, t, ip, BC, DE, HL, A, zr, fl, word
// One way out of each function: every further tail call would be slow to compile.
#define PART(name) static LIGHT void name(REGISTERS) { Handler go; {
#define END } out: [[clang::musttail]] return go(PASS); }
#define DISPATCH(i) { go = (Handler)table[i]; KEEP_HERE(go); goto out; }
// By the table: the address of a function is three instructions away.
#define GO_TO(part) DISPATCH(AT_##part)
#define NEXT { if (__builtin_expect(t >= h->limit, 0)) GO_TO(look); \
    word = *ip; DISPATCH(word & 1023); }
#define MAP 0x01FF01FF // bits of `fast` that are pages
#define PAST (-(1ll << 62))
#define TIME(cycles) t += ((i64)(cycles) << 24) + 1;
#define NEVER (1ll << 62)
#define NOW ((u32)(t >> 24))
#define PC ((u32)(ip - (const u32*)h->base))
#define CONSOLE ((Console*)h->console)
#define F_BITS ((zr == 0) << 7 | (fl >> 10 & 0x40) | (fl << 1 & 0x20) | (fl >> 4 & 0x10))
#define SET_F(f) { zr = ~(f) & 0x80; \
    fl = ((f) & 0x10) << 4 | ((f) & 0x20) >> 1 | ((f) & 0x40) << 10; }
#define FIND(pages, else_) const u64 page = h->pages.c[a >> 13]; \
    if (__builtin_expect(page == 0, 0)) { h->address = a; else_; }
#define FIND2(pages, else_) const u64 page = h->pages.c[a >> 13]; \
    if (__builtin_expect(page == 0 || (a & 0x1FFF) == 0x1FFF, 0)) { h->address = a; else_; }
// HRAM has a page of its own behind the others.
#define FIND_HIGH(pages, else_) const u64 page = h->pages.c[a - 0xFF80 < 0x7F ? 8 : 7]; \
    if (__builtin_expect(page == 0, 0)) { h->address = a; else_; }
#define BYTE (*(u8*)(page + a))
#define PAIR (*(loose16*)(page + a))
// Code without predecoded words: `ip` says the PC, `look` fetches.
#define OFF_WORDS(pc) { h->base = 0; h->window = ~0u; h->limit = PAST; \
    ip = (const u32*)((u64)((pc) & 0xFFFF) << 2); }
#define GO(to) { if (__builtin_expect(((to) ^ h->window) >> 14 != 0, 0)) { \
        word = (to); GO_TO(cross); } \
    ip = (const u32*)h->base + (to); NEXT; }
// A branch that may close a loop that waits is looked at, if it leads back.
#define JUMP(target, next) { const u32 to = (target); \
    if ((word & WAITS) && to < (next)) { word = to | (word & COUNTS) << 16; GO_TO(back); } \
    GO(to); }
// JR, which mostly stays in its bank.
#define HOP(offset, next) { \
    if (__builtin_expect((word & (WAITS | LEAVES_BANK)) != 0, 0)) \
        JUMP(((next) + (offset)) & 0xFFFF, next); \
    ip += (int)(offset); NEXT; }
#define REQUESTED (*(u8*)(h->mem + 0x7F0F) & *(u8*)(h->mem + 0x7FFF) & 0x1F)
#define ASK(what, a, value, start) { loose32* asked = (loose32*)h->scratch; \
    asked[0] = (a); asked[1] = (value); asked[2] = CTL; asked[3] = (start); \
    h->asked = (what); GO_TO(leave); }
#define ROW (((const u32*)h->control) + (word & 511) * ROW_WORDS)
// Control bits of an instruction that comes to its access: its condition holds.
#define CTL (ROW[6] | (ROW[5] & TAKEN_ONLY))

#define LEAVE_TO(w) { word = (w); DISPATCH((w) & 511); }
// By a jump of its own for each way on, which the processor learns by itself.
#define ON(i) { [[clang::musttail]] return ((Handler)table[i])(PASS); }
#define WALK { if (__builtin_expect(t >= h->limit, 0)) GO_TO(look); \
    word = *ip; ON(word & 1023); }
#define WALK_TO(w) { if (__builtin_expect(t >= h->limit, 0)) GO_TO(look); \
    word = (w); ON((w) & 511); }
#define GO_ON(to) { if (__builtin_expect(((to) ^ h->window) >> 14 != 0, 0)) { \
        word = (to); GO_TO(cross); } \
    ip = (const u32*)h->base + (to); WALK; }
#define TO_BANK_0(to) { h->base = h->bases.c[0]; h->window = 0; h->limit = h->soon; \
    ip = (const u32*)h->base + (to); }
struct Hot { typedef LIGHT void (*Handler)(REGISTERS);
PART(sb0)
top: if (__builtin_expect(t + 50331650ll >= h->limit, 0)) goto late; {
u32 sp = h->sp;
 u32 v0; const u32 x0 = 0, y0 = A; v0 = y0 - 1; zr = v0 & 255; A = (v0 & 255);
 if (zr != 0) { { const u32 k0 = y0 ^ v0; fl = ((fl & 0x100) | (k0 & 0x10) | 0x10000);  t += 16777217ll; ip += 1; LEAVE_TO(3455912992u) } }
if (__builtin_expect(sp - h->stack - 2 >= h->stacks, 0)) { const u32 k0 = y0 ^ v0; fl = ((fl & 0x100) | (k0 & 0x10) | 0x10000);  t += 50331650ll; ip += 3; LEAVE_TO(33554637u) } const u64 at2 = h->mem + sp - 32770;  sp = (sp - 2) & 0xFFFF; *(loose16*)at2 = 344u; { const u32 k0 = y0 ^ v0; fl = ((fl & 0x100) | (k0 & 0x10) | 0x10000);  h->sp = sp; h->stable_t = t + 150994944ll; t += 150994947ll; ip += 174; ON(516) }
} late: if (t < h->limit) LEAVE_TO(4246732861u) GO_TO(look)
END
PART(sb1)
top: if (__builtin_expect(t + 0ll >= h->limit, 0)) goto late; {
  {  t += 50331649ll; ip += 80; ON(515) }
} late: GO_TO(look)
END
PART(sb2)
top: if (__builtin_expect(t + 0ll >= h->limit, 0)) goto late; {
 u32 v0; const u32 x0 = 0, y0 = (1023737918u >> 16 & 255); v0 = x0 + y0; A = v0;
{  t += 33554433ll; ip += 2; ON(513) }
} late: GO_TO(look)
END
PART(sb3)
top: if (__builtin_expect(t + 67108866ll >= h->limit, 0)) goto late; {
u32 sp = h->sp;
 u32 v0; const u32 x0 = 0, y0 = (BC >> 8); v0 = y0 + 1; zr = v0 & 255; BC = (BC & 0xFF) | (v0 & 255) << 8;
if (__builtin_expect(sp - h->stack - 0 >= h->stacks, 0)) { const u32 k0 = y0 ^ v0; fl = ((fl & 0x100) | (k0 & 0x10));  t += 67108866ll; ip += 3; LEAVE_TO(201u) } const u64 at2 = h->mem + sp - 32768; const u32 m2 = *(loose16*)at2;  sp = (sp + 2) & 0xFFFF; { const u32 k0 = y0 ^ v0; fl = ((fl & 0x100) | (k0 & 0x10));  h->sp = sp; t += 134217731ll; GO_ON(m2) }
} late: if (t < h->limit) LEAVE_TO(1572868u) GO_TO(look)
END
};
static const void* const ALL[] = { (const void*)Hot::sb0, (const void*)Hot::sb1, (const void*)Hot::sb2, (const void*)Hot::sb3 };
for (u32 i = 0; i < sizeof ALL / sizeof *ALL; i++) ((const void**)out)[i] = ALL[i];
return sizeof ALL / sizeof *ALL;
#undef ASK_FETCH
#undef ASK_READ
#undef ASK_WRITE
#undef ASK_OAM_BUG
#undef ASK_CONTROL
#undef HAS_MEMORY
#undef WORD_AT
#undef MEMORY_AT
#undef LONGEST
#undef PLAIN_IO
#undef SETTLED
#undef FAR
#undef PLAIN_PICTURE
#undef PICTURE_PLAIN
#undef STATUS_PLAIN
#undef STATUS_MARGIN
#undef MBC1
#undef MBC3
#undef MBC5
#undef ALWAYS_SLOW
#undef MUST_BE_PLAIN
#undef COPY_TABLE
#undef WITH_MEMORY
#undef CONTROL
#undef WIDE
#undef WIDE_READ
#undef TAKEN_ONLY
#undef ROW_WORDS
#undef WAITS
#undef LEAVES_BANK
#undef COUNTS_16
#undef COUNTS
#undef EI
#undef DI
#undef RETI
#undef AT_leave
#undef AT_look
#undef AT_fetch
#undef AT_cross
#undef AT_back
#undef AT_cold_read
#undef AT_cold_write
#undef AT_cold_pair
#undef AT_cold_control
#undef LIGHT
#undef LIGHT
#undef KEEP_HERE
#undef KEEP_HERE
#undef REGISTERS
#undef PASS
#undef PART
#undef END
#undef DISPATCH
#undef GO_TO
#undef NEXT
#undef MAP
#undef PAST
#undef TIME
#undef NEVER
#undef NOW
#undef PC
#undef CONSOLE
#undef F_BITS
#undef SET_F
#undef FIND
#undef FIND2
#undef FIND_HIGH
#undef BYTE
#undef PAIR
#undef OFF_WORDS
#undef GO
#undef JUMP
#undef HOP
#undef REQUESTED
#undef ASK
#undef ROW
#undef CTL
#undef LEAVE_TO
#undef ON
#undef WALK
#undef WALK_TO
#undef GO_ON
#undef TO_BANK_0
#endif
}


// /work/cpuhot/emulator/kernels/launch/hot_native.py:60
static CUDA_CALLABLE void adj__module__locals__put_superblocks_0(
    NativeState_333cb507* _wp_ref_h,
    Console_ede698e1* _wp_ref_c,
    wp::uint64 out,
    NativeState_333cb507* _wp_ref_adj_h,
    Console_ede698e1* _wp_ref_adj_c,
    wp::uint64 & adj_out,
    wp::uint32 & adj_ret)
{
    NativeState_333cb507& h = *_wp_ref_h;
    Console_ede698e1& c = *_wp_ref_c;
    NativeState_333cb507& adj_h = *_wp_ref_adj_h;
    Console_ede698e1& adj_c = *_wp_ref_adj_c;
}

struct wp_args__module__locals__superblocks_a874ce69 {
    wp::array_t<Console_ede698e1> console;
    wp::uint64 out;
};


template <bool wp_linear_contiguous>
static void _module__locals__superblocks_a874ce69_cpu_kernel_forward(
    wp::launch_bounds_t<1> dim,
    size_t task_index,
    wp_args__module__locals__superblocks_a874ce69 *_wp_args)
{
    static constexpr bool wp_linear_tid = wp_linear_contiguous;

    //---------
    // argument vars
    wp::array_t<Console_ede698e1> var_console = _wp_args->console;
    wp::uint64 var_out = _wp_args->out;
    //---------
    // primal vars
    NativeState_333cb507 var_0;
    const wp::int32 var_1 = 0;
    Console_ede698e1* var_2;
    wp::uint32 var_3;
    //---------
    // forward
    // def superblocks(console: wp.array[Console], out: wp.uint64):                           <L 66>
    // h = NativeState()                                                                      <L 67>
    var_0 = NativeState_333cb507();
    // put_superblocks(h, console[0], out)                                                    <L 68>
    var_2 = wp::address(var_console, var_1);
    var_3 = _module__locals__put_superblocks_0(&(var_0), var_2, var_out);
}



template <bool wp_linear_contiguous>
static WP_FORCEINLINE void _module__locals__superblocks_a874ce69_cpu_forward_tasks(
    wp::launch_bounds_t<1> *dim,
    wp_args__module__locals__superblocks_a874ce69 *_wp_args)
{
    for (size_t task_index = 0; task_index < dim->size; ++task_index)
    {
        _module__locals__superblocks_a874ce69_cpu_kernel_forward<wp_linear_contiguous>(*dim, task_index, _wp_args);
    }
}

static WP_FORCEINLINE void _module__locals__superblocks_a874ce69_cpu_forward_dispatch(
    wp::launch_bounds_t<1> *dim,
    wp_args__module__locals__superblocks_a874ce69 *_wp_args)
{
    wp::tile_shared_storage_t tile_mem;
#if defined(WP_ENABLE_TILES_IN_STACK_MEMORY)
    wp::shared_tile_storage = &tile_mem;
#endif

    _module__locals__superblocks_a874ce69_cpu_forward_tasks<false>(dim, _wp_args);
}

extern "C" {

// Python CPU entry points
WP_API void _module__locals__superblocks_a874ce69_cpu_forward(
    wp::launch_bounds_t<1> *dim,
    wp_args__module__locals__superblocks_a874ce69 *_wp_args)
{
    _module__locals__superblocks_a874ce69_cpu_forward_dispatch(dim, _wp_args);
}

} // extern C

