/* Sound of a ROM on SameBoy as a DMG-CPU B: compare_sound ROM ROW FRAMES BUTTONS OUT STEP

   Compiled by compare_sound.py with SameBoy's Core, whose timing.c calls `sound_probe` once an M-cycle. It begins
   where the boot program ends: ROW holds addresses 8000-FFFF, STEP is the frame sequencer's. BUTTONS has a byte for
   each frame. OUT gets the four channels' outputs of each M-cycle, two in a byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gb.h"

#define M_CYCLES_PER_FRAME 17556
/* The LCD was switched on so long before that line 0 begins 53 T-cycles later; a frame more, as the first is blank. */
#define LCD_ON_BEFORE (17541 + M_CYCLES_PER_FRAME)

static FILE *out;
static uint64_t done, wanted;
static bool listening;

void sound_probe(GB_gameboy_t *gb)
{
    if (!listening || done == wanted) return;
    GB_apu_run(gb, true);
    uint8_t heard[4];
    for (int i = 0; i < 4; i++) heard[i] = GB_get_channel_amplitude(gb, i);
    fputc(heard[0] | heard[1] << 4, out);
    fputc(heard[2] | heard[3] << 4, out);
    done++;
}

static uint32_t encode(GB_gameboy_t *gb, uint8_t r, uint8_t g, uint8_t b) { return r; }

static uint8_t *read_file(const char *path, size_t bytes)
{
    uint8_t *data = calloc(bytes, 1);
    FILE *file = fopen(path, "rb");
    if (!file || fread(data, 1, bytes, file) != bytes) exit(2);
    fclose(file);
    return data;
}

static void begin(GB_gameboy_t *gb, const uint8_t *row, int step)
{
    const uint8_t *io = row + 0x7F00;
    gb->boot_rom_finished = true;
    memset(gb->io_registers, 0, sizeof gb->io_registers);
    memcpy(gb->vram, row, 0x2000);
    memcpy(gb->ram, row + 0x4000, 0x2000);
    memcpy(gb->hram, row + 0x7F80, 0x7F);
    memset(gb->oam, 0, sizeof gb->oam);
    if (gb->mbc_ram) memset(gb->mbc_ram, 0xFF, gb->mbc_ram_size);
    for (int i = GB_IO_BGP; i <= GB_IO_OBP1; i++) GB_write_memory(gb, 0xFF00 + i, io[i]);
    GB_advance_cycles(gb, 3);
    GB_write_memory(gb, 0xFF00 + GB_IO_LCDC, 0x91);
    GB_advance_cycles(gb, 1);
    for (int i = 0; i < LCD_ON_BEFORE; i++) GB_advance_cycles(gb, 4);
    gb->io_registers[GB_IO_IF] = 0xE1;
    gb->io_registers[GB_IO_DMA] = 0xFF;
    gb->io_registers[GB_IO_TAC] = 0xF8;
    gb->io_registers[GB_IO_SC] = 0x7E;
    gb->io_registers[GB_IO_JOYP] = 0xCF;
    gb->interrupt_enable = 0;
    gb->div_counter = 0xABCC;
    memset(&gb->apu, 0, sizeof gb->apu);
    for (int i = GB_IO_NR10; i < GB_IO_NR52; i++) gb->io_registers[i] = io[i];
    for (int i = GB_IO_WAV_START; i <= GB_IO_WAV_END; i++) gb->io_registers[i] = io[i];
    gb->io_registers[GB_IO_NR52] = 0x80;
    gb->apu.apu_cycles_in_2mhz = gb->apu.global_enable = gb->apu.is_active[GB_SQUARE_1] = true;
    gb->apu.lf_div = 1;
    gb->apu.div_divider = step;
    gb->apu.square_sweep_countdown = 2;
    gb->apu.noise_channel.alignment = 2;
    typeof(gb->apu.square_channels[0]) *one = gb->apu.square_channels;
    one[0].sample_length = io[GB_IO_NR13] | (io[GB_IO_NR14] & 7) << 8;
    one[1].sample_length = io[GB_IO_NR23] | (io[GB_IO_NR24] & 7) << 8;
    one[0].sample_countdown = 13;
    one[0].current_sample_index = 2;
    one[0].envelope_clock.locked = true;
    one[1].sample_countdown = -1;
    gb->apu.wave_channel.sample_length = io[GB_IO_NR33] | (io[GB_IO_NR34] & 7) << 8;
    gb->apu.wave_channel.shift = (uint8_t[]){4, 0, 1, 2}[io[GB_IO_NR32] >> 5 & 3];
    gb->af = 0x01B0, gb->bc = 0x0013, gb->de = 0x00D8, gb->hl = 0x014D, gb->sp = 0xFFFE, gb->pc = 0x0100;
    gb->ime = false;
    gb->pending_cycles = 0;
}

int main(int count, char **given)
{
    static uint32_t pixels[160 * 144];
    static const GB_key_t keys[8] = {GB_KEY_RIGHT, GB_KEY_LEFT, GB_KEY_UP, GB_KEY_DOWN,
                                     GB_KEY_A, GB_KEY_B, GB_KEY_SELECT, GB_KEY_START};
    GB_gameboy_t *gb = GB_init(GB_alloc(), GB_MODEL_DMG_B);
    GB_set_rgb_encode_callback(gb, encode);
    GB_set_pixels_output(gb, pixels);
    GB_set_rtc_mode(gb, GB_RTC_MODE_ACCURATE);
    GB_set_emulate_joypad_bouncing(gb, false);
    if (count != 7 || GB_load_rom(gb, given[1])) return 2;
    int frames = atoi(given[3]), frame = 0;
    uint8_t *buttons = read_file(given[4], frames);
    if (!(out = fopen(given[5], "wb"))) return 2;
    begin(gb, read_file(given[2], 0x8000), atoi(given[6]));
    wanted = (uint64_t)frames * M_CYCLES_PER_FRAME;
    listening = true;
    while (done < wanted) {
        uint64_t now = done + gb->pending_cycles / 4;
        if (frame < frames && now >= (uint64_t)frame * M_CYCLES_PER_FRAME) {
            for (int i = 0; i < 8; i++) GB_set_key_state(gb, keys[i], buttons[frame] >> i & 1);
            frame++;
        }
        GB_run(gb);
    }
    return fclose(out);
}
