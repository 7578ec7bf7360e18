// Only the entry point: closures in this file would belong to the main actor and crash on other threads.
import Glibc

exit(Program.run(System.arguments))
