;;; sf-mode.el --- Programs of minifut  -*- lexical-binding: t; -*-

;; Version: 0.1
;; Package-Requires: ((emacs "26.1"))
;; Keywords: languages

;;; Commentary:

;; A mode for the array programs (*.sf) of minifut: colours, comments, errors as one saves (`flymake-mode', by
;; `minifut check'), formatting (C-c C-f, by `minifut fmt').  Lists of words are checked by tests/editors/run.py.

;;; Code:

(require 'flymake)

(defgroup sf nil
  "Programs of minifut."
  :group 'languages)

(defcustom sf-program "minifut"
  "The compiler."
  :type 'string)

(defconst sf-keywords
  '("def" "entry" "type" "import" "let" "if" "then" "else" "in" "loop" "for" "while" "do" "with"
    "assert" "local" "open" "module" "include" "val" "match" "case"))

(defconst sf-types
  '("bool" "i8" "i16" "i32" "i64" "u8" "u16" "u32" "u64" "f16" "f32" "f64"))

(defconst sf-builtins
  '("map" "map1" "map2" "map3" "map4" "map5" "reduce" "reduce_comm" "scan" "exscan" "redomap" "scanomap"
    "filter" "partition" "scatter" "scatter_2d" "scatter_3d" "reduce_by_index"
    "reduce_by_index_2d" "reduce_by_index_3d" "scatter_stream" "reduce_by_index_stream" "write"
    "zip" "zip2" "zip3" "zip4" "zip5" "unzip" "unzip2"
    "unzip3" "unzip4" "unzip5" "iota" "replicate" "tabulate" "tabulate_2d" "tabulate_3d"
    "rotate" "reverse" "transpose" "rearrange" "flatten" "flatten_3d" "flatten_4d" "unflatten"
    "unflatten_3d" "unflatten_4d" "concat" "length" "indices" "head" "last" "tail" "init" "take"
    "drop" "split" "copy" "sum" "product" "minimum" "maximum" "id" "const" "flip" "curry"
    "uncurry" "null" "foldl" "foldr" "and" "or" "all" "any" "partition2" "flatmap" "concat_to"
    "flatten_to" "manifest" "hist" "spread" "iterate" "iterate_until" "iterate_while" "sized"
    "rep" "r32" "t32" "r64" "t64" "not" "opaque" "trace" "break" "jvp" "jvp2" "vjp" "vjp2"
    "jvp_vec" "jvp2_vec" "vjp_vec" "vjp2_vec" "jmp" "jmp2" "mjp" "mjp2"
    "with_vjp" "with_vjp_tape" "stop_gradient"))

(defvar sf-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?- ". 12" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?\' "_" table)
    (dolist (c '(?+ ?* ?/ ?% ?= ?! ?> ?< ?| ?& ?^ ?. ?: ?~ ?? ?# ?` ?\,))
      (modify-syntax-entry c "." table))
    (modify-syntax-entry ?\\ "." table)
    table))

(defconst sf--number
  (concat "\\(?:^\\|[^.a-zA-Z0-9_']\\|\\.\\.\\)\\(\\(?:0[xX][0-9a-fA-F][0-9a-fA-F_]*\\(?:\\.[0-9a-fA-F][0-9a-fA-F_]*\\)?"
          "\\(?:[pP][-+]?[0-9]+\\(?:f16\\|f32\\|f64\\)?\\)?"
          "\\|0[bB][01_]+\\|0[rR][IVXLCDM_]+"
          "\\|[0-9][0-9_]*\\(?:\\.[0-9][0-9_]*\\)?\\(?:[eE][-+]?[0-9][0-9_]*\\)?\\)"
          "\\(?:[iu]\\(?:8\\|16\\|32\\|64\\)\\|f\\(?:16\\|32\\|64\\)\\)?\\)"))

(defvar sf-font-lock-keywords
  `(("#[a-zA-Z_][a-zA-Z0-9_']*" . font-lock-constant-face)
    ("\\_<\\(?:def\\|entry\\)[ \t]+\\([a-zA-Z_][a-zA-Z0-9_']*\\)" 1 font-lock-function-name-face)
    (,(regexp-opt sf-keywords 'symbols) . font-lock-keyword-face)
    (,(regexp-opt sf-types 'symbols) . font-lock-type-face)
    (,(regexp-opt '("true" "false") 'symbols) . font-lock-constant-face)
    ("#\\[\\([a-z_]+\\)" 1 font-lock-preprocessor-face)
    (,sf--number 1 font-lock-constant-face)
    ("\\(?:[^.]\\|^\\)\\(\\.\\(?:[a-zA-Z_][a-zA-Z0-9_']*\\|[0-9]+\\)\\)" 1 'default)
    (,(regexp-opt sf-builtins 'symbols) . font-lock-builtin-face)
    ("'[~^]?[a-zA-Z_][a-zA-Z0-9_]*" . font-lock-variable-name-face)
    ("\\?\\?\\?" . font-lock-preprocessor-face))
  "What `sf-mode' colours besides comments and strings.")

(defun sf--syntax-propertize (start end)
  "Mark characters and strings from START to END."
  (goto-char start)
  (funcall
   (syntax-propertize-rules
    ("--.*" (0 (ignore (goto-char (match-end 0)))))
    ("\\(\"\\)\\(?:[^\"\\\\]\\|\\\\\\(?:.\\|\n\\)\\)*\\(\"\\)"
     (1 (if (nth 8 (save-excursion (syntax-ppss (match-beginning 0)))) nil (string-to-syntax "|")))
     (2 (if (nth 8 (save-excursion (syntax-ppss (match-beginning 0)))) nil (string-to-syntax "|"))))
    ("\\(?:^\\|[^a-zA-Z0-9_']\\)\\('\\)\\(?:[^\n\\\\']\\|\\\\\\(?:x[0-9a-fA-F]+\\|o[0-7]+\\|[0-9]+\\|\\^[@-_]\\|[A-Z][A-Z0-9]+\\|[^\n0-9]\\)\\)\\('\\)"
     (1 (if (nth 8 (save-excursion (syntax-ppss (match-beginning 1)))) nil (string-to-syntax "|")))
     (2 (if (nth 8 (save-excursion (syntax-ppss (match-beginning 1)))) nil (string-to-syntax "|")))))
   start end))

(defvar-local sf--process nil
  "The check that runs.")

(defun sf--report (report buffer output)
  "Give REPORT the messages about BUFFER in the buffer OUTPUT."
  (with-current-buffer output
    (goto-char (point-min))
    (let (found)
      (while (re-search-forward "^\\(.*\\):\\([0-9]+\\):\\([0-9]+\\): \\(error\\|warning\\|note\\): \\(.*\\)$" nil t)
        (when (string= (file-name-nondirectory (match-string 1))
                       (file-name-nondirectory (buffer-file-name buffer)))
          (let* ((line (string-to-number (match-string 2)))
                 (column (string-to-number (match-string 3)))
                 (kind (match-string 4))
                 (text (match-string 5))
                 (region (flymake-diag-region buffer line column)))
            (push (flymake-make-diagnostic buffer (car region) (cdr region)
                                           (intern (concat ":" kind)) text)
                  found))))
      (funcall report (nreverse found)))))

(defun sf-flymake (report &rest _)
  "Check the program, as it was saved, and REPORT its errors."
  (when (process-live-p sf--process)
    (kill-process sf--process))
  (let ((buffer (current-buffer)))
    (when (and (buffer-file-name) (executable-find sf-program))
      (setq sf--process
            (make-process
             :name "sf-flymake" :noquery t :connection-type 'pipe
             :buffer (generate-new-buffer " *sf-flymake*")
             :command (list sf-program "check" "--" (file-name-nondirectory (buffer-file-name)))
             :sentinel
             (lambda (process _event)
               (when (memq (process-status process) '(exit signal))
                 (unwind-protect
                     (when (and (buffer-live-p buffer)
                                (eq process (buffer-local-value 'sf--process buffer)))
                       (sf--report report buffer (process-buffer process)))
                   (kill-buffer (process-buffer process))))))))))

(defun sf-format-buffer ()
  "Format the buffer; its errors are shown and it stays as it is."
  (interactive)
  (let ((result (generate-new-buffer " *sf-format*"))
        (errors (make-temp-file "sf-format")))
    (unwind-protect
        (if (eq 0 (call-process-region nil nil sf-program nil (list result errors) nil "fmt"))
            (replace-buffer-contents result)
          (message "%s" (with-temp-buffer (insert-file-contents errors) (buffer-string))))
      (delete-file errors)
      (kill-buffer result))))

(defvar sf-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-f") #'sf-format-buffer)
    map))

;;;###autoload
(define-derived-mode sf-mode prog-mode "sf"
  "A mode for programs of minifut."
  (setq-local comment-start "-- ")
  (setq-local comment-start-skip "--+[ \t]*")
  (setq-local comment-end "")
  (setq-local indent-tabs-mode nil)
  (setq-local tab-width 2)
  (setq-local indent-line-function #'indent-relative)
  (setq-local compile-command
              (concat sf-program " check " (shell-quote-argument (or (buffer-file-name) ""))))
  (setq-local syntax-propertize-function #'sf--syntax-propertize)
  (setq-local font-lock-defaults '(sf-font-lock-keywords))
  (add-hook 'flymake-diagnostic-functions #'sf-flymake nil t))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.sf\\'" . sf-mode))

(provide 'sf-mode)
;;; sf-mode.el ends here
