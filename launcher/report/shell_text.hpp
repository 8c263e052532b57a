// SPDX-License-Identifier: MIT
//
// Commands to be pasted into a shell: sh, bash and zsh.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace metalrun::text {

/// `bytes` as one word of a shell: as it is where that is safe, else between single quotes; with
/// control bytes, or if it is not UTF-8, in the $'…' form, which bash and zsh read.
[[nodiscard]] std::string shell_word(std::string_view bytes);

/// The words with blanks between, each as shell_word() gives it.
[[nodiscard]] std::string shell_command(std::initializer_list<std::string_view> words);

} // namespace metalrun::text
