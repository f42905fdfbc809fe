"""What our games are made with: drawing board, font, tiles, songs, cartridge images."""
